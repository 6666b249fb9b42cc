"""The filter decides as it should: it is run here by an interpreter of classic BPF, call by call."""

import errno
import struct

import pytest

from ale.errors import SandboxUnavailable
from ale.sandbox.local.seccomp import program

ALLOW, KILL = 0x7FFF0000, 0x80000000
X86_64, AARCH64 = 0xC000003E, 0xC00000B7


def refused(number: int) -> int:
    return 0x00050000 | number


def decide(code: bytes, architecture: int, number: int, *arguments: int) -> int:
    words = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *([0] * (6 - len(arguments))))
    accumulator, at = 0, 0
    while True:
        operation, jump_true, jump_false, value = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", words, value)[0]
        elif operation == 0x06:
            return value
        else:
            true = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[operation]
            at += jump_true if true else jump_false


CASES = {
    "read": (0, (), ALLOW),
    "execve": (59, (), ALLOW),
    "mount": (165, (), refused(errno.EPERM)),
    "ptrace": (101, (), refused(errno.EPERM)),
    "bpf": (321, (), refused(errno.EPERM)),
    "io_uring_setup": (425, (), refused(errno.EPERM)),
    "keyctl": (250, (), refused(errno.EPERM)),
    "clone3, so that libc uses clone": (435, (), refused(errno.ENOSYS)),
    "clone of a thread": (56, (0x003D0F00,), ALLOW),
    "clone with SIGCHLD": (56, (17,), ALLOW),
    "clone into a user namespace": (56, (0x10000000 | 17,), refused(errno.EPERM)),
    "clone into a mount namespace": (56, (0x00020000,), refused(errno.EPERM)),
    "unshare of files": (272, (0x400,), ALLOW),
    "unshare of the network": (272, (0x40000000,), refused(errno.EPERM)),
    "unshare of time": (272, (0x80,), refused(errno.EPERM)),
    "a Unix socket": (41, (1, 1, 0), ALLOW),
    "an IPv6 socket": (41, (10, 1, 0), ALLOW),
    "a netlink socket": (41, (16, 3, 0), ALLOW),
    "a vsock socket": (41, (40, 1, 0), refused(errno.EAFNOSUPPORT)),
    "a packet socket": (41, (17, 3, 0), refused(errno.EAFNOSUPPORT)),
    "a crypto socket": (41, (38, 5, 0), refused(errno.EAFNOSUPPORT)),
    "window size": (16, (1, 0x5413), ALLOW),
    "typing into another's terminal": (16, (1, 0x5412), refused(errno.EPERM)),
    "an x32 call": (0x40000000, (), refused(errno.ENOSYS)),
}


@pytest.mark.parametrize(("number", "arguments", "verdict"), CASES.values(), ids=CASES.keys())
def test_x86_64(number: int, arguments: tuple[int, ...], verdict: int) -> None:
    assert decide(program("x86_64"), X86_64, number, *arguments) == verdict


def test_another_architecture_is_killed() -> None:
    assert decide(program("x86_64"), 0x40000003, 1) == KILL


def test_aarch64_has_its_own_numbers() -> None:
    code = program("aarch64")
    assert decide(code, AARCH64, 40) == refused(errno.EPERM)  # mount
    assert decide(code, AARCH64, 63) == ALLOW  # read
    assert decide(code, AARCH64, 172) == ALLOW  # getpid; iopl on x86_64
    assert decide(code, X86_64, 63) == KILL


def test_an_unknown_machine_is_named() -> None:
    with pytest.raises(SandboxUnavailable, match="sparc64"):
        program("sparc64")
