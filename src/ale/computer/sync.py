"""The synchronous session of class-form tasks (`vm_session`): the same machine, for code in a worker thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anyio import from_thread

from ale.computer.session import Command, CommandResult, Session

DEFAULT_TIMEOUT = 600.0


@dataclass(frozen=True)
class ExecResult:
    """How a command ended; exit codes are data, nothing is raised for them."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def return_code(self) -> int:
        return self.exit_code

    @property
    def returncode(self) -> int:
        return self.exit_code

    @property
    def success(self) -> bool:
        return self.exit_code == 0


class VmSession:
    """Call it from a thread that anyio started (`anyio.to_thread.run_sync`); each call waits for the machine.

    Relative sources and destinations on the host are looked up in `folder`, the task's own. private: what is uploaded
    is root's alone (a reference: delivered programs must not find it). Errors are those of the Session.
    """

    def __init__(self, session: Session, folder: Path, *, private: bool = False) -> None:
        self._session = session
        self._folder = folder
        self._private = private

    @property
    def os(self) -> str:
        return self._session.os

    def exec(
        self,
        command: Command,
        *,
        timeout: float | None = DEFAULT_TIMEOUT,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | str | None = None,
    ) -> ExecResult:
        given = stdin.encode() if isinstance(stdin, str) else stdin

        async def run() -> CommandResult:
            return await self._session.run_command(command, check=False, timeout=timeout, cwd=cwd, env=env, stdin=given)

        result = from_thread.run(run)
        return ExecResult(result.return_code, result.stdout, result.stderr)

    def upload_file(self, src: str | Path, dst: str) -> None:
        """Copy a host file or directory into the machine. A trailing `/` in `dst` means: into that directory, under
        the source's own name (a directory's contents go straight into it). Scripts with a `#!` line are executable."""
        source = self._folder / src
        if not source.exists():
            raise FileNotFoundError(f"the task has no file {src} (looked for {source})")
        if source.is_file() and dst.endswith("/"):
            dst += source.name
        target = dst.rstrip("/") or "/"
        from_thread.run(partial(self._session.upload, source, target, private=self._private))
        if source.is_file() and _is_script(source):
            self.exec(["chmod", "a+x", target])

    upload_dir = upload_file

    def download_file(self, src: str, dst: str | Path) -> None:
        """Copy one file of the machine to the host."""
        data = from_thread.run(self._session.read_bytes, src)
        target = self._folder / dst
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def read_file(self, path: str) -> str:
        return from_thread.run(self._session.read_file, path)

    def write_file(self, path: str, text: str) -> None:
        from_thread.run(self._session.write_file, path, text)

    def read_bytes(self, path: str) -> bytes:
        return from_thread.run(self._session.read_bytes, path)

    def write_bytes(self, path: str, data: bytes) -> None:
        from_thread.run(self._session.write_bytes, path, data)

    def exists(self, path: str) -> bool:
        return from_thread.run(self._session.exists, path)

    def file_exists(self, path: str) -> bool:
        return from_thread.run(self._session.file_exists, path)

    def directory_exists(self, path: str) -> bool:
        return from_thread.run(self._session.directory_exists, path)

    def list_dir(self, path: str) -> list[str]:
        return from_thread.run(self._session.list_dir, path)

    def create_dir(self, path: str) -> None:
        from_thread.run(self._session.create_dir, path)

    def delete(self, path: str) -> None:
        from_thread.run(self._session.delete, path)

    delete_dir = delete

    def copy(self, src: str, dst: str) -> None:
        from_thread.run(self._session.copy, src, dst)

    def move(self, src: str, dst: str) -> None:
        from_thread.run(self._session.move, src, dst)

    def screenshot(self) -> bytes:
        return from_thread.run(self._session.screenshot)


def _is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"
