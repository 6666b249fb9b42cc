"""Who may do what: the agent's rights, planted links, the server itself."""

from __future__ import annotations

from ale.computer.conformance.check import Checks, host_place, raises, workplace
from ale.computer.session import Session

checks = Checks()


@checks("the agent's Session can do what the agent can, and no more")
async def _agent_rights(session: Session) -> None:
    agent = session.as_user("agent")
    async with workplace(session) as place, host_place() as host:
        (host / "in").write_text("given", encoding="utf-8")
        await session.upload(host / "in", f"{place}/given/in", read_only=True)
        assert await agent.read_file(f"{place}/given/in") == "given"
        await raises(PermissionError, agent.write_file(f"{place}/given/in", "changed"))
        await raises(PermissionError, agent.write_file(f"{place}/given/new", ""))
        await raises(PermissionError, agent.delete(f"{place}/given/in"))
        await raises(PermissionError, agent.read_file("/etc/shadow"))
        await session.upload(host / "in", f"{place}/mine", owner="agent")
        await agent.write_file(f"{place}/mine", "changed")
        await raises(PermissionError, agent.upload(host / "in", f"{place}/theirs", owner="root"))


@checks("a link of the agent's does not lead root to what is not the agent's")
async def _planted_link(session: Session) -> None:
    agent = session.as_user("agent")
    async with workplace(session) as place:
        await session.write_file(f"{place}/secret", "answer")
        await session.run_command(["chmod", "600", f"{place}/secret"])
        await session.run_command(["install", "-d", "-o", "1000", f"{place}/agent"])
        await agent.run_command(f"ln -s {place}/secret {place}/agent/result; ln -s {place} {place}/agent/dir; ")
        assert not await session.exists(f"{place}/agent/result")
        await raises(PermissionError, session.read_bytes(f"{place}/agent/result"))
        await raises(PermissionError, session.read_bytes(f"{place}/agent/dir/secret"))
        await raises(PermissionError, session.write_bytes(f"{place}/agent/result", b"overwritten"))
        assert await session.read_file(f"{place}/secret") == "answer"


@checks("the server is out of the agent's reach")
async def _server_safe(session: Session) -> None:
    agent = session.as_user("agent")
    line = "for s in INT TERM HUP QUIT KILL STOP ABRT SEGV USR1; do kill -$s 1 2>/dev/null && echo sent $s; done; "
    line += "cat /proc/1/environ 2>/dev/null && echo read; (: > /proc/1/mem) 2>/dev/null && echo opened; true"
    assert (await agent.run_command(line)).stdout == ""
    assert (await session.run_command("kill -TERM 1; kill -INT 1; echo $?")).success
    assert await session.exists("/")
