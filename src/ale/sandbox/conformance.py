"""What every provider must do, as checks that any provider can run: `for check in CHECKS: await check(subject)`.

A check raises AssertionError with a sentence. Each makes its own machines and destroys them. `MACHINE_CHECKS` need real
processes; a provider that has none (the fake) runs `PLAIN_CHECKS` alone.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from ale.computer.paths import AGENT_HOME, DOOR_PORT, INPUT, OUTPUT, REFERENCE, UIDS
from ale.computer.session import Session
from ale.errors import SandboxLost, UsageError
from ale.sandbox.protocol import Provider, Sandbox, SandboxSpec

BOUND = 120.0
"""Seconds that one check may take; they take one."""


@dataclass(frozen=True)
class Subject:
    """provider: the one under test. another: opens a second one on the same state, as another process would.
    leftovers: what the provider left on the host (processes, mounts, directories, cgroups ...), a line for each."""

    provider: Provider
    image: str
    another: Callable[[], Provider]
    leftovers: Callable[[], Awaitable[Sequence[str]]]
    label: str = field(default_factory=lambda: f"conformance-{secrets.token_hex(4)}")

    def spec(self, *, door: bool = False, keep: bool = False, hostname: str = "desk") -> SandboxSpec:
        return SandboxSpec(label=self.label, image=self.image, door=door, keep=keep, hostname=hostname)

    @asynccontextmanager
    async def machine(
        self, *, door: bool = False, keep: bool = False, hostname: str = "desk"
    ) -> AsyncIterator[Sandbox]:
        machine = await self.provider.create(self.spec(door=door, keep=keep, hostname=hostname))
        try:
            yield machine
        finally:
            await machine.destroy()


async def a_machine_answers_once_it_is_created(subject: Subject) -> None:
    async with subject.machine() as machine:
        assert await machine.alive(), "a machine that create() returned does not answer"
        await machine.session().write_file(f"{OUTPUT}/here", "yes")
        assert await machine.session("agent").read_file(f"{OUTPUT}/here") == "yes"
        assert machine.image == await subject.provider.image(subject.image)
        listed = {info.id: info for info in await subject.provider.list()}
        assert machine.id in listed, "list() does not name a running machine"
        assert (listed[machine.id].state, listed[machine.id].label) == ("running", subject.label)


async def an_unknown_machine_is_a_usage_error(subject: Subject) -> None:
    for call in (subject.provider.attach, subject.provider.remove):
        try:
            await call("no-such-machine")
        except UsageError:
            continue
        raise AssertionError(f"{call.__name__}() of an unknown id did not raise UsageError")


async def destroy_leaves_nothing_and_may_be_repeated(subject: Subject) -> None:
    machine = await subject.provider.create(subject.spec(door=True))
    session = machine.session("agent")
    await session.write_file(f"{OUTPUT}/file", "x" * 1000)
    await machine.destroy()
    await machine.destroy()
    assert not await machine.alive()
    left = [line for line in await subject.leftovers() if machine.id in line]
    assert not left, f"left on the host: {left}"
    assert machine.id not in [info.id for info in await subject.provider.list()]
    try:
        await session.read_file(f"{OUTPUT}/file")
    except SandboxLost:
        return
    raise AssertionError("a Session of a destroyed machine did not raise SandboxLost")


async def destroy_is_not_stopped_by_a_cancellation(subject: Subject) -> None:
    machine = await subject.provider.create(subject.spec())
    with anyio.CancelScope() as scope:
        scope.cancel()
        await machine.destroy()
    left = [line for line in await subject.leftovers() if machine.id in line]
    assert not left, f"left on the host after a cancelled destroy: {left}"


async def a_cancelled_create_leaves_nothing(subject: Subject) -> None:
    for delay in (0.0, 0.02, 0.05):
        with anyio.move_on_after(delay):
            machine = await subject.provider.create(subject.spec())
            with anyio.CancelScope(shield=True):
                await machine.destroy()
    left = [info.id for info in await subject.provider.list() if info.label == subject.label]
    assert not left, f"left by a cancelled create: {left}"


async def a_door_is_given_once_and_only_if_asked_for(subject: Subject) -> None:
    async with subject.machine() as machine:
        _refuses_door(machine)
    async with subject.machine(door=True) as machine:
        machine.door().close()
        _refuses_door(machine)


async def a_fork_keeps_files_and_deletions(subject: Subject) -> None:
    async with subject.machine() as machine:
        session, root = machine.session("agent"), machine.session()
        await root.create_dir(f"{OUTPUT}/deep/er")
        await root.write_file(f"{OUTPUT}/deep/er/kept", "kept")
        await root.write_file(f"{OUTPUT}/gone", "gone")
        await root.delete(f"{OUTPUT}/gone")
        await session.write_file(f"{AGENT_HOME}/mine", "mine")
        await machine.freeze()
        fork = await machine.fork(subject.spec())
        try:
            inside = fork.session()
            assert await inside.read_file(f"{OUTPUT}/deep/er/kept") == "kept"
            assert not await inside.exists(f"{OUTPUT}/gone"), "a deleted file came back in the fork"
            assert await inside.read_file(f"{AGENT_HOME}/mine") == "mine", "the agent's home is not in the fork"
            assert not await machine.alive(), "the original still runs beside its fork"
            await machine.destroy()
            await inside.write_file(f"{OUTPUT}/more", "more")
            assert await inside.read_file(f"{OUTPUT}/deep/er/kept") == "kept", "a fork needs its ancestor to live"
        finally:
            await fork.destroy()


async def a_kept_machine_can_be_attached_and_removed(subject: Subject) -> None:
    machine = await subject.provider.create(subject.spec(keep=True))
    try:
        await machine.session().write_file(f"{OUTPUT}/here", "yes")
        other = subject.another()
        assert machine.id not in await other.sweep(), "sweep() removed a kept machine"
        attached = await other.attach(machine.id)
        assert await attached.alive()
        assert await attached.session("agent").read_file(f"{OUTPUT}/here") == "yes"
        _refuses_door(attached)
        await attached.session().aclose()
        await other.remove(machine.id)
        assert not await machine.alive(), "remove() left the machine running"
    finally:
        await machine.destroy()
    left = [line for line in await subject.leftovers() if machine.id in line]
    assert not left, f"left on the host by remove(): {left}"


async def sweep_spares_a_machine_whose_maker_lives(subject: Subject) -> None:
    async with subject.machine() as machine:
        assert machine.id not in await subject.another().sweep()
        assert await machine.alive()


# From here on real processes are needed.


async def hostname_users_and_directories_are_as_designed(subject: Subject) -> None:
    async with subject.machine(hostname="office") as machine:
        root, agent = machine.session(), machine.session("agent")
        assert await _says(root, "hostname") == "office"
        assert await _says(agent, "id -u; id -g; echo $HOME; pwd") == f"1000\n1000\n{AGENT_HOME}\n{AGENT_HOME}"
        owners = await _says(root, f"stat -c %u {INPUT} {OUTPUT} {AGENT_HOME}")
        assert owners.split() == ["0", str(UIDS["agent"]), str(UIDS["agent"])]
        assert not await root.exists(REFERENCE), "there is a reference directory before grading"
        assert await _says(root, "cat /proc/1/comm; ls -d /proc/[0-9]* | wc -l") != "", "no /proc"


async def the_agent_cannot_leave_its_role(subject: Subject) -> None:
    attempts = {
        "signal the server": "kill -9 1",
        "read the server's environment": "cat /proc/1/environ",
        "read the server's memory": "head -c 1 /proc/1/mem",
        "list the server's files": "ls /proc/1/fd/",
        "write the inputs": f"touch {INPUT}/x",
        "plant a reference": f"mkdir {REFERENCE}",
        "change kernel settings": "echo x > /proc/sys/kernel/core_pattern",
        "change network settings": "echo 1 > /proc/sys/net/ipv4/ip_forward",
        "enter a user namespace": "unshare --user true",
        "mount": "mount -t tmpfs none /mnt",
        "make a device": "mknod /tmp/device c 1 3",
        "become root": "setpriv --reuid 0 true",
        "write programs": "touch /usr/bin/x",
        "read other users' secrets": "cat /etc/shadow",
        "trace": "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).ptrace(16, 1, 0, 0) != 0)'",
    }
    async with subject.machine() as machine:
        session = machine.session("agent")
        for what, command in attempts.items():
            result = await session.run_command(command, check=False)
            assert not result.success, f"the agent can {what}: {command}"
        assert await machine.alive()


async def root_inside_is_nobody_outside(subject: Subject) -> None:
    attempts = {
        "change kernel settings": "echo x > /proc/sys/kernel/core_pattern",
        "mount": "mount -t tmpfs none /mnt",
        "make a device": "mknod /tmp/device c 1 3",
        "enter a namespace": "unshare --net true",
        "raise limits": "ulimit -Hn 10000000",
    }
    async with subject.machine() as machine:
        for what, command in attempts.items():
            result = await machine.session().run_command(command, check=False)
            assert not result.success, f"root inside can {what}: {command}"


async def two_machines_see_nothing_of_each_other(subject: Subject) -> None:
    mark = secrets.token_hex(8)
    async with subject.machine() as one, subject.machine() as two:
        assert one.id != two.id
        for folder in ("/tmp", OUTPUT, AGENT_HOME, "/dev/shm"):  # noqa: S108
            await one.session("agent").write_file(f"{folder}/{mark}", mark)
        await one.session("agent").launch(["sleep", "1000"], env={"MARK": mark})
        found = await _says(
            two.session(),
            f"find / -xdev -name {mark}; ls /dev/shm/; grep -l {mark} /proc/[0-9]*/environ; pgrep -x sleep; true",
        )
        assert found == "", f"one machine shows in the other: {found}"


async def nothing_of_the_host_shows(subject: Subject) -> None:
    mark = f"ale-{secrets.token_hex(8)}"
    with tempfile.NamedTemporaryFile(prefix=mark), tempfile.NamedTemporaryFile(prefix=mark, dir=Path.home()):
        os.environ[mark.replace("-", "_").upper()] = "host"
        try:
            async with subject.machine() as machine:
                for user in ("root", "agent"):
                    session = machine.session("root" if user == "root" else "agent")
                    environment = await _says(session, "env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")
                    assert mark.replace("-", "_").upper() not in environment, "the host's environment is inside"
                    assert "PYTHON" not in environment, f"the host's environment is inside: {environment}"
                    assert await _says(session, f"find / -name '{mark}*' 2>/dev/null; true") == "", "host files inside"
                mounts = await _says(machine.session(), "cat /proc/self/mountinfo")
                assert str(Path.home()) not in mounts or str(Path.home()) == "/root", "host paths show in the mounts"
                assert "/.local/" not in mounts, f"host paths show in the mounts: {mounts}"
        finally:
            del os.environ[mark.replace("-", "_").upper()]


async def there_is_no_network_but_the_door(subject: Subject) -> None:
    name = f"ale-{secrets.token_hex(8)}"
    with socket.create_server(("0.0.0.0", 0)) as listener, socket.socket(socket.AF_UNIX) as abstract:  # noqa: S104
        abstract.bind(f"\0{name}")
        abstract.listen()
        port = listener.getsockname()[1]
        addresses = ["127.0.0.1", "169.254.169.254", *_host_addresses()]
        async with subject.machine(door=True) as machine:
            door = machine.door()
            with door:
                for address in addresses:
                    text = await _connects(machine, f"AF_INET, ('{address}', {port})")
                    assert text != "connected", f"the machine reaches the host at {address}"
                text = await _connects(machine, f"AF_UNIX, '\\0{name}'")
                assert text != "connected", "the machine reaches an abstract socket of the host"
                text = await _connects(machine, f"AF_VSOCK, (2, {port})")
                assert text != "connected", "the machine reaches the host by vsock"
                text = await _connects(machine, f"AF_INET, ('127.0.0.1', {DOOR_PORT})")
                assert text == "connected", f"the door is closed from inside: {text}"
        async with subject.machine() as machine:
            text = await _connects(machine, f"AF_INET, ('127.0.0.1', {DOOR_PORT})")
            assert text != "connected", "a machine without a door has one"


async def the_door_carries_bytes_both_ways(subject: Subject) -> None:
    async with subject.machine(door=True) as machine:
        door = machine.door()
        door.setblocking(False)
        with door:
            async with anyio.create_task_group() as tasks:

                async def answer() -> None:
                    await anyio.wait_readable(door)
                    connection, _ = door.accept()
                    with connection:
                        connection.setblocking(False)
                        await anyio.wait_readable(connection)
                        connection.send(connection.recv(100).upper())

                tasks.start_soon(answer)
                code = (
                    f"import socket; s = socket.create_connection(('127.0.0.1', {DOOR_PORT}))\n"
                    "s.send(b'knock'); print(s.recv(100))"
                )
                said = await machine.session("agent").run_command(["python3", "-c", code], timeout=30)
            assert said.stdout.strip() == "b'KNOCK'", said.stdout


SURVIVORS = {
    "a daemon": "(sleep 1000 &) ; (nohup sleep 1000 >/dev/null 2>&1 &)",
    "a setsid grandchild": "setsid sh -c 'sleep 1000 & wait' >/dev/null 2>&1 &",
    "a respawning loop": "setsid sh -c 'while :; do sleep 0.01; done' >/dev/null 2>&1 &",
    "one that ignores TERM": "setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' >/dev/null 2>&1 &",
    "a fork loop": "setsid python3 -c 'import os\nwhile 1:\n try:\n  os.fork() and os._exit(0)\n except OSError: pass' "
    ">/dev/null 2>&1 &",
}
"""Ways to outlive one's welcome, as shell commands of the agent."""


async def freeze_ends_everything_of_the_agent(subject: Subject) -> None:
    async with subject.machine() as machine:
        session = machine.session("agent")
        for command in SURVIVORS.values():
            await session.run_command(command, timeout=30)
        report = await machine.freeze()
        assert report.checked, "a freeze that checked nothing"
        alive = "ps -U 1000 -o pid=,comm= | grep -v defunct; true"
        assert await _says(machine.session(), alive) == "", f"the agent's processes outlive the freeze: {report}"
        assert await machine.freeze() == report, "a second freeze is no longer the same"


async def a_frozen_machine_runs_nothing_as_the_agent(subject: Subject) -> None:
    async with subject.machine() as machine:
        await machine.freeze()
        try:
            result = await machine.session("agent").run_command("id -u", check=False)
        except Exception:  # noqa: BLE001 - a refusal of any kind is what is wanted
            result = None
        assert result is None or result.stdout.strip() != "1000", "a command ran as the agent after the freeze"


async def a_fork_has_no_process_of_the_agent(subject: Subject) -> None:
    async with subject.machine() as machine:
        await machine.session("agent").run_command(SURVIVORS["a respawning loop"])
        await machine.freeze()
        fork = await machine.fork(subject.spec())
        try:
            assert await _says(fork.session(), "ps -U 1000 -o pid=,comm=; true") == ""
        finally:
            await fork.destroy()


async def a_machine_ends_with_its_maker_and_is_swept(subject: Subject) -> None:
    """kill -9 of the maker; the next provider finds what is left."""
    code = (
        "import anyio\nfrom ale.sandbox import open_provider\nfrom ale.sandbox.protocol import SandboxSpec\n"
        "async def main():\n"
        f"    spec = SandboxSpec('orphan', {subject.image!r})\n"
        f"    machine = await open_provider({subject.provider.name!r}).create(spec)\n"
        "    await machine.session('agent').launch(['sleep', '1000'])\n"
        "    print(machine.id, flush=True)\n"
        "    await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    maker = await anyio.open_process([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    async with maker:
        assert maker.stdout is not None
        name = (await maker.stdout.receive()).decode().strip()
        assert name, "the maker made no machine"
        os.kill(maker.pid, signal.SIGKILL)
        await maker.wait()
    swept = await subject.another().sweep()
    assert name in swept, f"sweep() removed {list(swept)}, not {name}"
    left = [line for line in await subject.leftovers() if name in line]
    assert not left, f"left on the host after the sweep: {left}"
    assert name not in await subject.another().sweep()


async def a_kept_machine_outlives_its_maker(subject: Subject) -> None:
    code = (
        "import anyio\nfrom ale.sandbox import open_provider\nfrom ale.sandbox.protocol import SandboxSpec\n"
        "async def main():\n"
        f"    spec = SandboxSpec('kept', {subject.image!r}, keep=True)\n"
        f"    machine = await open_provider({subject.provider.name!r}).create(spec)\n"
        f"    await machine.session('agent').write_file('{OUTPUT}/here', 'yes')\n"
        "    print(machine.id, flush=True)\n"
        "anyio.run(main)\n"
    )
    done = await anyio.run_process([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    name = done.stdout.decode().strip()
    try:
        assert name not in await subject.provider.sweep(), "sweep() removed a kept machine whose maker has ended"
        attached = await subject.provider.attach(name)
        assert await attached.session().read_file(f"{OUTPUT}/here") == "yes"
        await attached.destroy()
    finally:
        if name in [info.id for info in await subject.provider.list()]:
            await subject.provider.remove(name)
    left = [line for line in await subject.leftovers() if name in line]
    assert not left, f"left on the host: {left}"


Check = Callable[[Subject], Awaitable[None]]

PLAIN_CHECKS: tuple[Check, ...] = (
    a_machine_answers_once_it_is_created,
    an_unknown_machine_is_a_usage_error,
    destroy_leaves_nothing_and_may_be_repeated,
    destroy_is_not_stopped_by_a_cancellation,
    a_cancelled_create_leaves_nothing,
    a_door_is_given_once_and_only_if_asked_for,
    a_fork_keeps_files_and_deletions,
    a_kept_machine_can_be_attached_and_removed,
    sweep_spares_a_machine_whose_maker_lives,
)

MACHINE_CHECKS: tuple[Check, ...] = (
    hostname_users_and_directories_are_as_designed,
    the_agent_cannot_leave_its_role,
    root_inside_is_nobody_outside,
    two_machines_see_nothing_of_each_other,
    nothing_of_the_host_shows,
    there_is_no_network_but_the_door,
    the_door_carries_bytes_both_ways,
    freeze_ends_everything_of_the_agent,
    a_frozen_machine_runs_nothing_as_the_agent,
    a_fork_has_no_process_of_the_agent,
    a_machine_ends_with_its_maker_and_is_swept,
    a_kept_machine_outlives_its_maker,
)

CHECKS = PLAIN_CHECKS + MACHINE_CHECKS


def _refuses_door(machine: Sandbox) -> None:
    try:
        machine.door().close()
    except ValueError:
        return
    raise AssertionError("a door was given that nobody asked for, or twice")


async def _says(session: Session, command: str) -> str:
    return (await session.run_command(command, timeout=60)).stdout.strip()


async def _connects(machine: Sandbox, family_and_address: str) -> str:
    family, _, address = family_and_address.partition(", ")
    code = (
        "import socket\ntry:\n"
        f" s=socket.socket(socket.{family}); s.settimeout(3); s.connect({address}); print('connected')\n"
        "except OSError as error:\n print(error)"
    )
    return (await machine.session("agent").run_command(["python3", "-c", code], timeout=30)).stdout.strip()


def _host_addresses() -> list[str]:
    """Addresses under which other machines see this host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # RFC 5737; nothing is sent by connecting a datagram socket
        except OSError:
            return []
        return [str(probe.getsockname()[0])]
