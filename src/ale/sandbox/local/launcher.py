"""Enters the namespaces of one sandbox, then becomes the program that it is told to.

A program of its own (`python -I -S launcher.py PLAN`), since entering a user namespace is a matter of a whole process.
PLAN is JSON:

    sync      descriptor of a socket to the parent: `U` is sent when the namespaces are there, `G` is awaited, which
              means that the ids are mapped; an error text is sent before exit; it closes by itself when exec works
    lower     directories of the overlay, highest first; empty: no mount namespace, no overlay
    disk      directory that holds, or gets, the overlay's `upper` and `work`
    mount     where the overlay appears in this process's own mount namespace
    keep      name -> descriptor that the program inherits; `@name` in argv is replaced by its number there
    install   descriptor -> fixed number in the program
    seccomp   hex of a filter; the program finds its descriptor as `@seccomp`
    argv, env, cwd   the program

Layers are opened in the new mount namespace (an overlay takes them from no other) but still as the user who owns them,
and mounted as /proc/self/fd/N: the mapped root needs no permission on any directory above them, and no path of the host
shows in the sandbox's /proc/mounts.
"""

import ctypes
import fcntl
import json
import os
import resource
import sys

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_NOSUID, _MS_REC, _MS_PRIVATE = 2, 0x4000, 0x40000
_FIRST_FREE = 64  # descriptors below are for the program


def main() -> None:
    plan = json.loads(sys.argv[1])
    sync = _lift(plan["sync"])
    step = "taking over descriptors"
    try:
        os.umask(0o022)
        kept = {name: _lift(descriptor) for name, descriptor in plan["keep"].items()}
        fixed = {number: _lift(int(descriptor)) for descriptor, number in plan["install"].items()}
        libc = ctypes.CDLL(None, use_errno=True)
        step = "entering a user namespace"
        _check(libc.unshare(_CLONE_NEWUSER | (_CLONE_NEWNS if plan["lower"] else 0)))
        step = "opening the layers"
        lower = [_directory(path) for path in plan["lower"]]
        disk = _directory(plan["disk"]) if lower else None
        cwd = _directory(plan["cwd"] or "/")
        os.write(sync, b"U")
        if os.read(sync, 1) != b"G":
            os._exit(1)  # the parent is gone
        step = "becoming the mapped root"
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        if disk is not None:
            step = "mounting the overlay"
            _mount_overlay(libc, lower, disk, plan["mount"])
        step = "limiting itself"
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if plan["seccomp"]:
            kept["seccomp"] = _filter(bytes.fromhex(plan["seccomp"]))
        step = f"starting {plan['argv'][0]}"
        os.fchdir(cwd)
        for number, descriptor in fixed.items():
            os.dup2(descriptor, number)
        for descriptor in kept.values():
            os.set_inheritable(descriptor, True)
        argv = [str(kept[word[1:]]) if word[:1] == "@" and word[1:] in kept else word for word in plan["argv"]]
        os.execve(argv[0], argv, plan["env"])  # noqa: S606 - no shell is meant
    except OSError as error:
        os.write(sync, f"{step}: {error.strerror or error}".encode())
        os._exit(1)


def _lift(descriptor: int) -> int:
    """Move it out of the way. The old one is closed: the program must not inherit it, or its end would not be seen."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    os.close(descriptor)
    return high


def _directory(path: str) -> int:
    return _lift(os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _mount_overlay(libc: ctypes.CDLL, lower: list[int], disk: int, target: str) -> None:
    for name in ("upper", "work"):
        try:
            os.mkdir(f"/proc/self/fd/{disk}/{name}", 0o755)  # noqa: PTH102 - pathlib takes 20 ms to import
        except FileExistsError:
            continue
    _check(libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))
    options = (
        f"lowerdir={':'.join(f'/proc/self/fd/{layer}' for layer in lower)},"
        f"upperdir=/proc/self/fd/{disk}/upper,workdir=/proc/self/fd/{disk}/work,"
        # volatile: fsync inside costs nothing; a machine does not outlive a crash of the host anyway
        "userxattr,volatile"
    )
    _check(libc.mount(b"overlay", target.encode(), b"overlay", _MS_NOSUID, options.encode()))


def _filter(program: bytes) -> int:
    descriptor = os.memfd_create("filter", os.MFD_CLOEXEC)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return _lift(descriptor)


main()
