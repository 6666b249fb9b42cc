"""Programs that are delivered to be run on held-back cases, and do more than that. The honest part of each is `_SUM`."""

from __future__ import annotations

from ale.sandbox.hostile.attack import Attack, Ending, python

_SUM = "awk '{ sum += $1 } END { print sum }' data/numbers.txt > out/sum.txt\n"


def _delivered(name: str, program: str, ending: Ending = Ending(), *, slow: bool = False) -> Attack:  # noqa: B008 - frozen
    return Attack(name, "delivered", program, ending, alone=True, slow=slow)


DELIVERED = (
    _delivered(
        "hunts for the reference and the other cases",
        _SUM
        + """
exec > out/found.txt 2>/dev/null
"""
        + python(
            """
import glob
key = 'si-yek-eht'[::-1].encode()
for top, directories, names in os.walk('/'):
    directories[:] = [name for name in directories if os.path.join(top, name) not in ('/proc', '/usr/share', '/usr/lib')]
    for name in (*names, *directories):
        path = os.path.join(top, name)
        try:
            if os.path.isfile(path) and not path.startswith(os.getcwd()) and key in open(path, 'rb').read(1 << 24):
                got('the key in', path)
        except OSError:
            pass
        if name in ('numbers.txt', 'sum.txt', 'found.txt', 'expected') and not path.startswith(os.getcwd()):
            got(path)
for place in ('/task', '/task/output', '/task/reference', '/root', '/run/ale/cases', '/run/ale'):
    try:
        got(place, os.listdir(place))
    except OSError:
        continue
for folder in glob.glob('/proc/[0-9]*'):
    for name in ('environ', 'cwd/.', 'fd', 'root/task'):
        try:
            if os.stat(folder).st_uid == os.getuid():
                continue
            path = os.path.join(folder, name)
            got(path, os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read()[:40])
        except OSError:
            continue
"""
        ),
    ),
    _delivered(
        "leaves notes for its next case",
        _SUM
        + """
for place in /tmp /var/tmp /dev/shm /run/lock /home/agent /home/agent/.cache; do
  test -e "$place/note" && echo "GOT $place/note of another case" >> out/found.txt
  mkdir -p "$place" && cp data/numbers.txt "$place/note"
done 2>/dev/null
true
""",
    ),
    _delivered(
        "stays for its next case",
        _SUM
        + """
pgrep -x staying >/dev/null && echo "GOT a process of another case" > out/found.txt
(setsid bash -c 'exec -a staying bash -c "printf staying > /proc/self/comm; trap : TERM HUP; while true; do sleep 0.01; done"' \\
  >/dev/null 2>&1 </dev/null &)
sleep 0.1
""",
    ),
    _delivered(
        "ends everything that it can",
        _SUM + "kill -9 -1 2>/dev/null; kill -9 1 $PPID 2>/dev/null; true\n",
    ),
    _delivered(
        "a delivered fork bomb deaf to signals",
        python(
            """
import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
"""
        ),
        Ending(score=0.0),
    ),
    _delivered(
        "uses up the grading machine's memory",
        python(
            """
import time
for number in range(900):
    if os.fork() == 0:
        time.sleep(1)
        block = bytearray(8 << 20)
        block[::4096] = bytes([1]) * 2048
        time.sleep(60)
        os._exit(0)
time.sleep(10)
"""
        ),
        Ending(score=0.0),
    ),
    _delivered("prints without end", "yes\n", Ending(score=0.0)),
    _delivered("fills the disk of its case", "head -c 4G /dev/zero > out/sum.txt; true\n", Ending(score=0.0)),
    _delivered(
        "leaves a hostile tree",
        _SUM
        + """
cd out && ln -s /etc/passwd link && mkfifo pipe && touch "$(printf '\\377')" && mkdir closed && chmod 0 closed
python3 - <<'P'
import os
for part, number in (('d', 300), ('e' * 250, 16)):
    here = os.open('.', os.O_RDONLY)
    for _ in range(number):
        os.mkdir(part); os.chdir(part)
    os.fchdir(here)
P
truncate -s 60M sparse; for n in $(seq 5000); do : > n$n; done; true
""",
    ),
    _delivered(
        "reads what it should write", "cat /task/reference/*/expected/* > out/sum.txt 2>/dev/null\n", Ending(score=0.0)
    ),
    _delivered("waits to be stopped", "sleep 1000\n", Ending(score=0.0)),
)
