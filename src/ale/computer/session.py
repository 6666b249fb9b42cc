"""The Session contract: the one API through which task code, graders, harnesses and bridges act on a sandbox.

Every call is bounded in time. Every call may raise `SandboxLost` (the machine is gone) and nothing else beyond what its
docstring lists. A Session acts as one user; `as_user` gives the same machine seen as another.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from ale.computer.paths import User

Command = str | Sequence[str]
"""A string is run by the machine's shell; a sequence is an argument list and no shell sees it."""

DEFAULT_TIMEOUT = 120.0
"""Seconds that a command may run when its caller says nothing."""

MAX_OUTPUT = 64 * 2**20
"""Bytes of stdout and of stderr that a CommandResult holds; what is beyond is counted, and `truncated` says so."""

Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True)
class CommandResult(Mapping[str, Any]):
    """How a command ended. Also a read-only mapping with the keys of the public task API
    (`success`, `stdout`, `stderr`, `return_code`).

    return_code: the true exit code; 128 + n when signal n ended it, and then `signal` is n.
    stdout_bytes, stderr_bytes: exactly what was written, before decoding (UTF-8, undecodable bytes replaced).
    dropped: bytes that did not fit into MAX_OUTPUT, per stream; never silently: `truncated` is then true.
    """

    return_code: int
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    signal: int | None = None
    duration: float = 0.0
    dropped: Mapping[Stream, int] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        return self.return_code == 0

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", errors="replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", errors="replace")

    @property
    def truncated(self) -> bool:
        return any(self.dropped.values())

    def __getitem__(self, key: str) -> Any:
        if key not in _MAPPING_KEYS:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_MAPPING_KEYS)

    def __len__(self) -> int:
        return len(_MAPPING_KEYS)


_MAPPING_KEYS = ("success", "stdout", "stderr", "return_code")


@dataclass(frozen=True)
class CommandExit:
    """The last item of a streamed command."""

    return_code: int
    signal: int | None
    timed_out: bool
    duration: float


@dataclass(frozen=True)
class FileInfo:
    """One entry of the machine's file system, links not followed. mtime: seconds since the epoch, its clock."""

    name: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    mode: int
    uid: int
    mtime: float


@dataclass(frozen=True)
class CollectedFile:
    """One sound file of a downloaded tree. path: relative, `/`-separated."""

    path: str
    size: int
    sha256: str
    executable: bool


@dataclass(frozen=True)
class Refusal:
    """One entry of a downloaded tree that was not taken, and why (`link`, `device`, `name`, `too_large`, ...)."""

    path: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Collected:
    """What a download left on the host. Directories without a sound file are listed too."""

    files: tuple[CollectedFile, ...]
    directories: tuple[str, ...]
    refused: tuple[Refusal, ...]

    @property
    def total_bytes(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class TreeLimits:
    """Bounds on a tree that comes out of a sandbox."""

    total_bytes: int = 4 * 2**30
    file_bytes: int = 2 * 2**30
    files: int = 100_000
    name_bytes: int = 255
    depth: int = 64


class Session(Protocol):
    @property
    def os(self) -> Literal["linux", "windows"]: ...

    @property
    def user(self) -> User: ...

    def as_user(self, user: User) -> Session:
        """The same machine, acting as another user. Shares this Session's connections; only the first one is closed."""

    async def aclose(self) -> None: ...

    # commands

    async def run_command(
        self,
        command: Command,
        *,
        check: bool = True,
        timeout: float | None = DEFAULT_TIMEOUT,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        shell: Literal["bash", "powershell", "cmd"] | None = None,
    ) -> CommandResult:
        """Run a command to its end. Returns when the command itself ends, even if a child of it keeps the pipes open
        (such children live on; what they print later is discarded).

        env is added to the user's clean login environment; cwd defaults to the user's home. A string goes to `shell`
        (default: bash on Linux, powershell on Windows).
        Raises CommandTimeout (the whole process tree is dead, `setsid` grandchildren included), CommandFailed (check),
        FileNotFoundError (cwd does not exist). A program that does not exist is exit code 127, one that is not
        executable 126.
        """

    def stream_command(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[tuple[Stream, bytes] | CommandExit]]:
        """Run a command and yield its output as it appears, then one CommandExit (also on timeout). Unbounded output
        is fine: nothing is kept. Leaving the block early kills the process tree before it returns."""

    async def launch(
        self, command: Command, *, cwd: str | None = None, env: Mapping[str, str] | None = None, log: str | None = None
    ) -> int:
        """Start a command in the background in a session of its own and return its pid at once. Its output goes to the
        file `log` in the machine, or nowhere. It lives until it ends or the machine is frozen."""

    async def run_delivered(
        self,
        command: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        memory_mb: int = 1024,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
    ) -> DeliveredRun:
        """Run a program that the agent delivered: as the agent's user, in a fresh empty directory that holds only
        `files` (name there → path in the machine, copied), with nothing else of the task readable and no door; every
        process it started is dead when this returns. Never raises for what the program does."""

    # files

    async def read_file(self, path: str) -> str:
        """UTF-8 text. Raises FileNotFoundError, IsADirectoryError, PermissionError, UnicodeDecodeError."""

    async def write_file(self, path: str, text: str) -> None:
        """Writes UTF-8 text, creating the file, not its directory. Raises FileNotFoundError, PermissionError,
        OSError(ENOSPC)."""

    async def read_bytes(self, path: str, offset: int = 0, length: int | None = None) -> bytes: ...

    async def write_bytes(self, path: str, data: bytes, *, append: bool = False) -> None: ...

    async def upload(
        self,
        source: Path,
        destination: str,
        *,
        owner: User | None = None,
        read_only: bool = False,
        private: bool = False,
    ) -> None:
        """Copy a host file or directory into the machine under exactly the name `destination`, as one tar stream.
        Parents are created. Links in `source` are followed if they stay inside it and are an error otherwise.
        private: readable to the owner alone (a reference in a grading machine)."""

    async def download(self, source: str, destination: Path, *, limits: TreeLimits | None = None) -> Collected:
        """Copy a directory (or one file) of the machine into the host directory `destination` (created, must be empty).
        Hostile entries are refused one by one and listed; raises FileNotFoundError if `source` is not there."""

    async def copy(self, source: str, destination: str) -> None: ...

    async def move(self, source: str, destination: str) -> None: ...

    async def delete(self, path: str) -> None:
        """Delete a file or a whole tree; links are not followed. Deleting what is not there is no error."""

    async def create_dir(self, path: str) -> None:
        """Create a directory and its parents; no error if it is there."""

    async def list_dir(self, path: str) -> list[str]:
        """Names, sorted. Raises FileNotFoundError, NotADirectoryError."""

    async def scan_dir(self, path: str) -> list[FileInfo]: ...

    async def exists(self, path: str) -> bool: ...

    async def file_exists(self, path: str) -> bool:
        """True for a regular file (or a link to one), false for a directory."""

    async def directory_exists(self, path: str) -> bool: ...

    async def digests(self, roots: Sequence[str], sizes: Sequence[int] | None = None) -> dict[str, str]:
        """SHA-256 (hex) of each regular file below `roots` on the machine's own file system, only those whose size is
        one of `sizes` when given. /proc, /sys and /dev are left out."""

    # screen

    async def screenshot(self) -> bytes:
        """The whole screen as PNG, cursor drawn in. Raises DisplayMissing when the machine has no display."""

    async def click(
        self, x: int, y: int, *, button: Literal["left", "middle", "right"] = "left", clicks: int = 1
    ) -> None:
        """Move to pixel (x, y), counted from the top left, and click. Raises ValueError outside the screen."""

    async def type(self, text: str) -> None:
        """Type text into whatever has the focus, letter for letter. A newline is Return, a tab is Tab."""

    async def key(self, keys: str | Sequence[str]) -> None:
        """Press a chord (`"ctrl+s"` or `["ctrl", "s"]`), release in reverse. Raises ValueError for an unknown key."""

    async def screen_size(self) -> tuple[int, int]: ...


@dataclass(frozen=True)
class DeliveredRun:
    """What a delivered program did. `files`: what it left in its directory, relative path → bytes, hostile entries
    refused like those of a download. `timed_out` and `out_of_memory` say which limit ended it."""

    result: CommandResult
    files: Mapping[str, bytes]
    timed_out: bool = False
    out_of_memory: bool = False


class DisplayMissing(RuntimeError):
    """The machine was made without a display; the task's card must ask for one (`display: true`)."""
