"""Programs that an agent delivered."""

from __future__ import annotations

import os

from ale.computer.conformance.check import Checks, gone, workplace
from ale.computer.session import Session

checks = Checks()


@checks("a delivered program sees its case and nothing of the task, and leaves nothing alive")
async def _delivered(session: Session) -> None:
    marker = f"4{int.from_bytes(os.urandom(3), 'big'):08d}"
    async with workplace(session) as place:
        await session.write_file(f"{place}/case.txt", "the case")
        await session.create_dir("/task/output")
        program = (
            "import os, sys, subprocess\n"
            "print(open('in/case.txt').read(), sys.stdin.read(), os.getuid(), sorted(os.listdir('.')))\n"
            "for path in ('/task', '/task/output', '/task/input', '/task/reference', '/task/software'):\n"
            "    try: os.listdir(path); print('LEAK', path)\n"
            "    except OSError: pass\n"
            "open('out.txt', 'w').write('done'); os.symlink('/etc/passwd', 'link'); os.mkfifo('fifo')\n"
            f"subprocess.Popen(['setsid', 'sleep', '{marker}'])\n"
            "sys.exit(5)\n"
        )
        await session.write_file(f"{place}/program.py", program)
        done = await session.run_delivered(
            ["python3", "program.py"],
            files={"program.py": f"{place}/program.py", "in/case.txt": f"{place}/case.txt"},
            stdin=b"input",
        )
        assert done.result.return_code == 5, done.result.stderr
        assert done.result.stdout == "the case input 1000 ['in', 'program.py']\n"
        assert done.files["out.txt"] == b"done"
        assert not {"link", "fifo"} & done.files.keys()
        assert (done.timed_out, done.out_of_memory) == (False, False)
        await gone(session, f"sleep {marker}")


@checks("a delivered program that runs too long or takes too much memory is ended, and it is said which")
async def _delivered_limits(session: Session) -> None:
    slow = await session.run_delivered(["sleep", "600"], timeout=0.5)
    assert slow.timed_out
    assert not slow.out_of_memory
    hungry = "x = []\nwhile True: x.append(bytes(bytearray(b'1') * 1000000))"
    big = await session.run_delivered(["python3", "-c", hungry], timeout=60, memory_mb=100)
    assert big.out_of_memory
    assert not big.timed_out
