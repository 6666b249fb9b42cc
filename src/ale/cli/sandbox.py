"""`ale sandbox`: images and machines, by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import click

from ale.computer.paths import User
from ale.computer.session import CommandExit, Session
from ale.errors import UsageError
from ale.sandbox import open_provider, provider_names
from ale.sandbox.images import find_recipes
from ale.sandbox.protocol import Provider, Sandbox, SandboxInfo, SandboxSpec
from ale.text import one_line

_provider_option = click.option(
    "--for",
    "provider_name",
    default="local",
    show_default=True,
    metavar="PROVIDER",
    help=f"Whose: {', '.join(provider_names())}.",
)


@click.group()
def sandbox() -> None:
    """Build images; list, enter and remove sandboxes."""


@sandbox.command()
@click.argument("name", default="base")
@_provider_option
@click.option("--json", "as_json", is_flag=True)
def build(name: str, provider_name: str, as_json: bool) -> None:
    """Build an image unless it is built already.

    NAME is a recipe in images/.
    """
    image = anyio.run(open_provider(provider_name).build_image, name, _say)
    if as_json:
        click.echo(json.dumps({"name": image.name, "recipe": image.recipe, "content": image.content}))
    else:
        click.echo(f"{image.name} {image.recipe[:12]} (content {image.content[:12]})")


@sandbox.command("list")
@_provider_option
@click.option("--json", "as_json", is_flag=True)
def list_sandboxes(provider_name: str, as_json: bool) -> None:
    """Every sandbox of this user, running or left over."""

    async def work() -> Sequence[SandboxInfo]:
        provider = open_provider(provider_name)
        await provider.sweep()
        return await provider.list()

    found = anyio.run(work)
    if as_json:
        click.echo(json.dumps([_document(info) for info in found], indent=1))
        return
    if not found:
        click.echo("no sandboxes", err=True)
        return
    click.echo(f"{'id':<12} {'state':<8} {'kept':<5} {'image':<10} {'disk':>8}  {'since':<16}  for")
    for info in found:
        kept = "kept" if info.kept else ""
        size = f"{info.disk_bytes / 2**20:.0f} MB"
        since = info.created.astimezone().strftime("%Y-%m-%d %H:%M")
        label = one_line(info.label, 40)
        click.echo(f"{info.id:<12} {info.state:<8} {kept:<5} {info.image:<10} {size:>8}  {since}  {label}")


@sandbox.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="ID|IMAGE")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--root", "as_root", is_flag=True, help="As root of the sandbox, not as the agent's user.")
@_provider_option
@click.pass_context
def shell(ctx: click.Context, name: str, command: tuple[str, ...], as_root: bool, provider_name: str) -> None:
    """Enter a sandbox, or a throw-away one.

    IMAGE gives a throw-away one, which ends with the shell. With a COMMAND (after `--`) that is run in place of a
    shell, without a terminal; its exit code becomes this one's.
    """
    if not command and not sys.stdin.isatty():
        raise UsageError(f"a shell needs a terminal; give a command instead: ale sandbox shell {name} -- COMMAND")

    async def work() -> int:
        provider = open_provider(provider_name)
        user: User = "root" if as_root else "agent"
        if user == "agent" and await _is_frozen(provider, name):
            _say(f"sandbox {name} is frozen, so nothing runs as the agent any more; this is root")
            user = "root"
        async with _machine(provider, name) as machine:
            if command:
                return await _run(machine.session(user), command)
            from ale.cli.shell import interact

            return await interact(machine.endpoint, user)

    ctx.exit(anyio.run(work))


@sandbox.command("rm")
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@_provider_option
def remove(names: tuple[str, ...], provider_name: str) -> None:
    """Stop and remove sandboxes, kept ones too."""

    async def work() -> None:
        provider = open_provider(provider_name)
        known = {info.id for info in await provider.list()}
        for name in names:
            if name not in known:
                await provider.remove(name)  # which says what is wrong, before anything is removed
        for name in names:
            await provider.remove(name)
            click.echo(name)

    anyio.run(work)


@sandbox.command()
@click.option("--old", is_flag=True, help="Also images that no recipe gives any more, and their layers.")
@_provider_option
def gc(old: bool, provider_name: str) -> None:
    """Remove what killed commands left.

    That is sandboxes, disks and unfinished builds of processes that no longer exist.
    """

    async def work() -> Sequence[str]:
        provider = open_provider(provider_name)
        collect = getattr(provider, "collect_garbage", None)
        if collect is None:
            return [f"sandbox {name}" for name in await provider.sweep()]
        found: Sequence[str] = await collect(old=old)
        return found

    removed = anyio.run(work)
    for line in removed:
        click.echo(f"removed {line}")
    if not removed:
        click.echo("nothing was left over", err=True)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _document(info: SandboxInfo) -> dict[str, Any]:
    return {
        "id": info.id,
        "label": info.label,
        "image": info.image,
        "created": info.created.isoformat(),
        "state": info.state,
        "kept": info.kept,
        "disk_bytes": info.disk_bytes,
    }


@asynccontextmanager
async def _machine(provider: Provider, name: str) -> AsyncIterator[Sandbox]:
    if name in find_recipes():
        machine = await provider.create(SandboxSpec(label="shell", image=name))
        try:
            yield machine
        finally:
            await machine.destroy()
    else:
        yield await provider.attach(name)


async def _is_frozen(provider: Provider, name: str) -> bool:
    return any(info.id == name and info.state == "frozen" for info in await provider.list())


async def _run(session: Session, command: Sequence[str]) -> int:
    async with session.stream_command(command) as items:
        async for item in items:
            if isinstance(item, CommandExit):
                return item.return_code
            stream, data = item
            out = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
            out.write(data)
            out.flush()
    raise AssertionError("a streamed command ends with its CommandExit or raises")
