"""Builds images: mmdebstrap makes a tar from package names, which is unpacked as the mapped root.

Two builds of one recipe from the same archive give the same tar; its SHA-256 is the image's content digest.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from ale.computer.paths import AGENT_HOME, INPUT, OUTPUT, SOFTWARE, UIDS
from ale.errors import SandboxUnavailable
from ale.sandbox.images import ImageRecipe
from ale.sandbox.local.apt import AptSources, host_suite, own_sources, unknown_packages
from ale.sandbox.local.idmap import IdRange, find_range
from ale.sandbox.local.mapped import make_directory, remove_tree, run_mapped, tool, tree_mb
from ale.sandbox.local.state import State, free_mb, held, read_json, try_lock, write_json
from ale.sandbox.protocol import ImageIdentity, Say

EPOCH = 1_767_225_600
"""Every file that the build itself makes has this time (2026-01-01), or the digests of two builds would differ."""

_MEMORY = Path("/dev/shm")  # noqa: S108 - what is made in it has a name of its own

_STEPS = tuple(f"I: {verb}" for verb in ("running apt-get", "downloading", "extracting", "installing", "creating"))
"""What of mmdebstrap's own words a person wants to see."""

_EXCLUDE = ("/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*", "/usr/share/lintian/*")
_INCLUDE = ("/usr/share/doc/*/copyright",)


async def build_image(recipe: ImageRecipe, state: State, say: Say) -> ImageIdentity:
    """Build an image unless it is there. Raises SandboxUnavailable: one sentence that says what to do."""
    ids = find_range()
    own = own_sources()
    digest = recipe.digest(own.suite)
    sources = own.of(recipe.suite)
    state.prepare()
    async with held(state, f"build-{digest[:16]}", say):
        if is_whole(state.images / digest):
            return identity(read_json(state.images / digest / "image.json"))
        remove_tree(state.images / digest, ids)
        await anyio.to_thread.run_sync(_preflight, recipe, sources.suite, state)
        started = time.monotonic()
        clean_scratch(state, ids)
        with _scratch(recipe, state, ids) as scratch:
            tar = scratch / "rootfs.tar"
            await _bootstrap(recipe, sources, scratch, tar, say)
            content = await anyio.to_thread.run_sync(_sha256, tar)
            say("unpacking")
            facts = {
                "name": recipe.name,
                "recipe": digest,
                "content": content,
                "suite": sources.suite,
                "seconds": round(time.monotonic() - started, 1),
            }
            with tar.open("rb") as file:
                await anyio.to_thread.run_sync(install_image, state, ids, facts, file)
        return identity(read_json(state.images / digest / "image.json"))


def is_whole(image: Path) -> bool:
    """Whether an image is there: somebody may have made room by hand."""
    return (image / "image.json").exists() and (image / "rootfs" / "usr").is_dir()


def install_image(state: State, ids: IdRange, facts: dict[str, Any], tar: Any) -> None:
    """Unpack a root file system under its final name. facts: name, recipe, content, suite, seconds."""
    place = state.images / f".build-{facts['recipe'][:16]}"
    remove_tree(place, ids)
    place.mkdir(mode=0o755)
    try:
        make_directory(place / "rootfs", ids)
        # devices can't be made in a user namespace, and the sandbox gets a /dev of its own
        unpack = [
            tool("tar"),
            "--extract",
            "--preserve-permissions",
            "--numeric-owner",
            "--xattrs",
            "--xattrs-include=*",
        ]
        run_mapped([*unpack, "--exclude=./dev/*"], ids, cwd=place / "rootfs", stdin=tar)
        write_json(
            place / "image.json",
            {
                **facts,
                "built": datetime.now(UTC).isoformat(timespec="seconds"),
                "size_mb": tree_mb(place / "rootfs", ids),
                "ids": {"uid": ids.uid, "gid": ids.gid},
                "packages": _installed(place / "rootfs/var/lib/dpkg/status"),
            },
        )
        place.rename(state.images / facts["recipe"])
    except BaseException:
        remove_tree(place, ids)
        raise


def identity(facts: dict[str, Any]) -> ImageIdentity:
    return ImageIdentity(name=facts["name"], recipe=facts["recipe"], content=facts["content"])


async def _bootstrap(recipe: ImageRecipe, sources: AptSources, scratch: Path, tar: Path, say: Say) -> None:
    entries = [scratch / "own.sources", scratch / "own.list"]
    for path, text in zip(entries, (sources.deb822, sources.one_line), strict=True):
        path.write_text(f"{text}\n" if text else "", encoding="utf-8")
    (scratch / "apt.conf").write_text(sources.options, encoding="utf-8")
    command = [
        tool("mmdebstrap"),
        "--variant=minbase",
        "--format=tar",
        f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",
        f"--include={','.join(sorted(set(recipe.packages)))}",
        f"--aptopt={scratch / 'apt.conf'}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDE),
        *(f"--dpkgopt=path-include={pattern}" for pattern in _INCLUDE),
        f"--customize-hook={_finish(recipe)}",
        sources.suite,
        str(tar),
        *(str(path) for path in entries if path.stat().st_size),
    ]
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": str(scratch),
        "SOURCE_DATE_EPOCH": str(EPOCH),
        **proxies,
    }
    words: list[str] = []
    process = await anyio.open_process(
        command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env=environment, start_new_session=True, cwd=scratch
    )
    async with _ended(process):
        assert process.stderr is not None
        async for line in _lines(TextReceiveStream(process.stderr, errors="replace")):
            words.append(line)
            del words[:-200]
            if line.startswith(_STEPS):
                say(line.removeprefix("I: ").rstrip("."))
        await process.wait()
    if process.returncode != 0:
        raise SandboxUnavailable(_why(recipe, sources.suite, words))


def _finish(recipe: ImageRecipe) -> str:
    """The last step inside the tree: users, directories, and nothing of this machine's own configuration left."""
    agent, display = UIDS["agent"], UIDS["display"]
    machine = hashlib.sha256(f"ale {recipe.name}".encode()).hexdigest()[:32]
    directories = " ".join(f'"$1"{path}' for path in (INPUT, SOFTWARE, OUTPUT, "/opt/harness"))
    return f"""set -e
chroot "$1" groupadd --gid {display} display
chroot "$1" useradd --uid {display} --gid {display} -M --home-dir /nonexistent --shell /usr/sbin/nologin display
chroot "$1" groupadd --gid {agent} agent
chroot "$1" useradd --uid {agent} --gid {agent} --create-home --home-dir {AGENT_HOME} --shell /bin/bash agent
mkdir -p {directories}
chroot "$1" chown agent:agent {OUTPUT}
echo {machine} > "$1"/etc/machine-id
printf '127.0.0.1\\tlocalhost\\n::1\\tlocalhost\\n' > "$1"/etc/hosts
echo desk > "$1"/etc/hostname
rm -f "$1"/etc/resolv.conf && : > "$1"/etc/resolv.conf
rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/apt.conf.d/99mmdebstrap
rm -rf "$1"/var/cache/debconf/*-old "$1"/var/log/apt "$1"/var/log/*.log
"""


def _why(recipe: ImageRecipe, suite: str, words: list[str]) -> str:
    text = "\n".join(words)
    missing = re.findall(r"E: Unable to locate package (\S+)|E: Package '(\S+)' has no installation candidate", text)
    names = sorted({name for pair in missing for name in pair if name})
    if names:
        return _missing(recipe, suite, names)
    if "No space left on device" in text:
        return f"image '{recipe.name}' can't be built: the disk is full; free space or set ALE_HOME elsewhere"
    errors = [line.removeprefix("E: ") for line in words if line.startswith(("E: ", "Err:", "W: Failed"))] or words
    return f"image '{recipe.name}' can't be built: mmdebstrap said: {'; '.join(errors[:3])[:500] or 'nothing'}"


def _missing(recipe: ImageRecipe, suite: str, names: list[str]) -> str:
    known = "package" if len(names) == 1 else "packages"
    return (
        f"image '{recipe.name}' can't be built: {suite} has no {known} {', '.join(names)} in this machine's apt "
        "sources; correct the recipe, or the sources (apt-get update reads them again)"
    )


def _preflight(recipe: ImageRecipe, suite: str, state: State) -> None:
    # the indexes of this machine tell nothing of another release
    if recipe.suite in (None, host_suite()) and (names := unknown_packages(recipe.packages)):
        raise SandboxUnavailable(_missing(recipe, suite, names))
    need, free = recipe.size_mb + 500, state.free_mb()
    if free < need:
        raise SandboxUnavailable(
            f"image '{recipe.name}' needs about {need} MB in {state.root}, where {free} MB are free; "
            "free space or set ALE_HOME elsewhere"
        )


@contextmanager
def _scratch(recipe: ImageRecipe, state: State, ids: IdRange) -> Iterator[Path]:
    """A directory for the tree and its tar: in memory when that has room (a third of the time), else in the state.
    It is locked, so that another process knows a dead one."""
    memory_roomy = _MEMORY.is_dir() and free_mb(_MEMORY) > 2 * recipe.size_mb + 500
    usable = memory_roomy and not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC
    path = Path(tempfile.mkdtemp(prefix=_scratch_prefix(), dir=_MEMORY if usable else state.root))
    path.chmod(0o755)  # mmdebstrap's mapped root works in it
    lock = try_lock(path / "lock")
    try:
        yield path
    finally:
        remove_tree(path, ids)
        if lock is not None:
            os.close(lock)


def clean_scratch(state: State, ids: IdRange) -> list[Path]:
    """Remove what builds that died left; their paths."""
    removed = []
    for path in [path for parent in (_MEMORY, state.root) for path in parent.glob(f"{_scratch_prefix()}*")]:
        lock = try_lock(path / "lock")
        if lock is not None:
            remove_tree(path, ids)
            os.close(lock)
            removed.append(path)
    return removed


def _scratch_prefix() -> str:
    return f"ale-build-{os.geteuid()}-"


@asynccontextmanager
async def _ended(process: Process) -> AsyncIterator[None]:
    """mmdebstrap removes its directory and mounts when it is asked to stop; what does not listen is killed."""
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.terminate()
                with anyio.move_on_after(20):
                    await process.wait()
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
            await process.aclose()


async def _lines(stream: TextReceiveStream) -> AsyncIterator[str]:
    rest = ""
    async for text in stream:
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            yield line.rsplit("\r", 1)[-1]
    if rest:
        yield rest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _installed(status: Path) -> dict[str, str]:
    """Package → version, from dpkg's own list."""
    installed = {}
    for paragraph in status.read_text(encoding="utf-8", errors="replace").split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in paragraph.splitlines() if re.match(r"(Package|Version|Status): ", line)
        )
        if fields.get("Status", "").endswith(" installed"):
            installed[fields["Package"]] = fields["Version"]
    return installed
