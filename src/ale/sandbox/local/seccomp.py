"""The system calls that a sandbox may not make, as a classic BPF program for bubblewrap's `--seccomp`.

A deny list on top of dropped capabilities: it closes what a process without any privilege can still reach in the
shared kernel (new namespaces, tracing, io_uring, keyrings, socket families that ignore network namespaces).
"""

from __future__ import annotations

import errno
import platform
import struct

from ale.errors import SandboxUnavailable

# linux/audit.h
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_X32_BIT = 0x40000000
"""Set in the numbers of the x32 calls, a second door to the same kernel functions."""

_NEW_NAMESPACE = 0x7E020080
"""CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET and TIME (linux/sched.h)."""

_CLONE_NAMESPACE = _NEW_NAMESPACE & ~0xFF
"""In clone() the low byte is the exit signal; CLONE_NEWTIME exists in unshare() and clone3() alone."""

_FAMILIES = (1, 2, 10, 16)
"""Socket families that may be made: UNIX, INET, INET6, NETLINK. AF_VSOCK and AF_ALG ignore network namespaces."""

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

# name: (x86_64, aarch64); None where the architecture has no such call
_DENIED: dict[str, tuple[int, int | None]] = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "chroot": (161, 51), "setns": (308, 268),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "acct": (163, 89), "syslog": (103, 116), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "fanotify_init": (300, 262), "open_by_handle_at": (304, 265),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None),
    "lookup_dcookie": (212, 18),
}  # fmt: skip

_CLONE = (56, 220)
_CLONE3 = (435, 435)
_UNSHARE = (272, 97)
_SOCKET = (41, 198)
_IOCTL = (16, 29)

# linux/bpf_common.h and linux/seccomp.h
_LOAD, _JUMP_EQUAL, _JUMP_SET, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24

Instruction = tuple[int, int, int, int]


def program(machine: str | None = None) -> bytes:
    """The filter for this machine's architecture. Raises SandboxUnavailable where none is known."""
    machine = machine or platform.machine()
    if machine not in _ARCH:
        known = " and ".join(sorted(_ARCH))
        raise SandboxUnavailable(f"local sandboxes have a system call filter for {known}, not for {machine}")
    column = 0 if machine == "x86_64" else 1
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, _ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        code += [(_JUMP_GREATER_EQUAL, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            code += _when(number, [(_RETURN, 0, 0, _ERRNO | errno.EPERM)])
    # libc falls back to clone(), whose flags a filter can read
    code += _when(_CLONE3[column], [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)])
    code += _when(_CLONE[column], _refuse_flags(_CLONE_NAMESPACE))
    code += _when(_UNSHARE[column], _refuse_flags(_NEW_NAMESPACE))
    code += _when(_SOCKET[column], _allow_values(_FIRST_ARGUMENT, _FAMILIES, errno.EAFNOSUPPORT))
    code += _when(_IOCTL[column], _refuse_values(_SECOND_ARGUMENT, (_TIOCSTI, _TIOCLINUX), errno.EPERM))
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _when(number: int, body: list[Instruction]) -> list[Instruction]:
    """Run body, which always returns, if the call has this number."""
    return [(_JUMP_EQUAL, 0, len(body), number), *body]


def _refuse_flags(mask: int) -> list[Instruction]:
    return [
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_SET, 0, 1, mask),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _allow_values(argument: int, values: tuple[int, ...], error: int) -> list[Instruction]:
    """The low 32 bits decide: the kernel takes these arguments as int."""
    tests: list[Instruction] = [(_JUMP_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [(_LOAD, 0, 0, argument), *tests, (_RETURN, 0, 0, _ERRNO | error), (_RETURN, 0, 0, _ALLOW)]


def _refuse_values(argument: int, values: tuple[int, ...], error: int) -> list[Instruction]:
    tests: list[Instruction] = [(_JUMP_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [(_LOAD, 0, 0, argument), *tests, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | error)]
