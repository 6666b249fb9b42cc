"""What a sandbox is made of, as bubblewrap's arguments."""

from __future__ import annotations

from dataclasses import dataclass

from ale.computer.paths import AGENT_HOME

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")
"""What root inside keeps, over the mapped users alone: to own files, to change to another user, to end processes."""


_LOCK_MB = 5
"""As systemd has it."""


@dataclass(frozen=True)
class Box:
    """mount: where the launcher put the overlay. network: the host's (builds alone) or a loopback of its own.
    tied: ends with the thread that started it. first: the command is pid 1 itself, which then has to reap orphans."""

    mount: str
    hostname: str
    shm_mb: int = 256
    run_mb: int = 64
    network: bool = False
    tied: bool = True
    first: bool = True
    setenv: tuple[tuple[str, str], ...] = ()
    extra: tuple[str, ...] = ()

    def arguments(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """After the program's own name. `@info` and `@seccomp` stand for descriptors."""
        words = ["--new-session", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
        words += ["--as-pid-1"] if self.first else []
        words += ["--die-with-parent"] if self.tied else []
        words += [] if self.network else ["--unshare-net"]
        words += ["--hostname", self.hostname, "--cap-drop", "ALL"]
        for capability in _CAPABILITIES:
            words += ["--cap-add", f"CAP_{capability}"]
        words += ["--bind", self.mount, "/", "--proc", "/proc", "--dev", "/dev"]
        # bubblewrap's own /dev/shm is as large as the host's memory
        words += ["--perms", "1777", "--size", str(self.shm_mb * 2**20), "--tmpfs", "/dev/shm"]  # noqa: S108
        # like after any boot, /run is empty: a fork must not find its ancestor's sockets
        words += ["--perms", "0755", "--size", str(self.run_mb * 2**20), "--tmpfs", "/run"]
        # everybody's, so apart: full, it must not keep the server from its work in /run
        words += ["--perms", "1777", "--size", str(_LOCK_MB * 2**20), "--tmpfs", "/run/lock"]
        words += self.extra
        words += ["--clearenv"]
        for name, value in (("PATH", PATH), ("HOME", "/root"), ("LANG", "C.UTF-8"), *self.setenv):
            words += ["--setenv", name, value]
        words += ["--chdir", "/", *(("--info-fd", "@info") if self.first else ()), "--seccomp", "@seccomp", "--"]
        return (*words, *command)


AS_AGENT = ("/usr/bin/setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "--")
"""Put before a command that a build runs as the agent's user, with HOME set to AGENT_HOME."""

AGENT_ENVIRONMENT = (("HOME", AGENT_HOME), ("USER", "agent"), ("LOGNAME", "agent"))
