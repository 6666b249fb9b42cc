"""`ale sandbox`, as a person uses it."""

import json
import os
import pty
import select
import subprocess
import sys
import time

import anyio
import anyio.to_thread
import pytest

from ale.sandbox import open_provider
from ale.sandbox.protocol import SandboxSpec

pytestmark = pytest.mark.sandbox

ALE = [sys.executable, "-m", "ale.cli", "sandbox"]


def ale(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ALE, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


def test_a_command_in_a_throw_away_sandbox_keeps_its_output_and_code(base_image: str) -> None:
    done = ale("shell", base_image, "--", "sh", "-c", "id -u; echo no >&2; exit 3")
    assert (done.stdout, done.stderr, done.returncode) == ("1000\n", "no\n", 3)
    assert ale("shell", "--root", base_image, "--", "id", "-u").stdout == "0\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("shell", "base"), "a shell needs a terminal"),
        (("shell", "nosuch", "--", "true"), "there is no sandbox 'nosuch'"),
        (("rm", "nosuch"), "there is no sandbox 'nosuch'"),
        (("build", "bsae"), "there is no image 'bsae' (did you mean 'base'?)"),
        (("list", "--for", "locl"), "there is no sandbox provider 'locl' (did you mean 'local'?)"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(base_image: str, words: tuple[str, ...], sentence: str) -> None:
    done = ale(*words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""


def test_build_of_what_is_built_says_its_digests(base_image: str) -> None:
    said = json.loads(ale("build", base_image, "--json").stdout)
    assert said["name"] == base_image
    assert len(said["content"]) == 64


def test_list_is_json_for_scripts(base_image: str) -> None:
    assert isinstance(json.loads(ale("list", "--json").stdout), list)


async def test_a_frozen_sandbox_is_entered_as_root_and_that_is_said(base_image: str) -> None:
    machine = await open_provider("local").create(SandboxSpec("frozen", base_image, keep=True))
    try:
        await machine.freeze()
        done = await anyio.to_thread.run_sync(ale, "shell", machine.id, "--", "id", "-u")
        assert (done.stdout, done.returncode) == ("0\n", 0)
        assert "frozen" in done.stderr
        removed = await anyio.to_thread.run_sync(ale, "rm", machine.id)
        assert removed.stdout == f"{machine.id}\n"
        assert not await machine.alive()
    finally:
        await machine.destroy()


def test_an_interactive_shell_has_a_real_terminal_and_ctrl_c_goes_inside(base_image: str) -> None:
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [*ALE, "shell", base_image])
    try:
        _expect(terminal, b"$ ")
        os.write(terminal, b"stty size; tty; id -u\r")
        assert b"/dev/pts/" in _expect(terminal, b"1000\r\n")
        os.write(terminal, b"sh -c 'echo begun; exec sleep 1000'\r")
        _expect(terminal, b"begun\r\n")
        os.write(terminal, b"\x03")
        _expect(terminal, b"$ ")
        os.write(terminal, b"exit 5\r")
        status = os.waitpid(process, 0)[1]
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 5


def _expect(terminal: int, words: bytes, seconds: float = 60.0) -> bytes:
    seen, end = b"", time.monotonic() + seconds
    while words not in seen:
        assert time.monotonic() < end, f"{words!r} did not come: {seen!r}"
        if select.select([terminal], [], [], 1.0)[0]:
            seen += os.read(terminal, 4096)
    return seen
