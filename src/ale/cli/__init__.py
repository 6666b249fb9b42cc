"""The command `ale`: one module a verb, loaded when it is used."""

from __future__ import annotations

import errno
import sys
from importlib import import_module

import click

from ale import __version__

VERBS = {
    "run": ("ale.cli.run:run", "Carry out an experiment and print its scoreboard."),
    "show": ("ale.cli.show:show", "Show a run or an experiment: outcome, reasons part by part, steps."),
    "logs": ("ale.cli.logs:logs", "Print a run's events and model calls, as they happen with -f."),
    "task": ("ale.cli.task:task", "List, show and scaffold tasks."),
    "agent": ("ale.cli.agent:agent", "List and check the agents that can be examined."),
    "sandbox": ("ale.cli.sandbox:sandbox", "Build images; list, enter and remove sandboxes."),
    "doctor": ("ale.cli.doctor:doctor", "Say what this machine can do, and how to mend what it can't."),
}


class LazyGroup(click.Group):
    """Knows its verbs by name and one line each; a verb's module is imported only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, _, attribute = VERBS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from ale.documents import nearest

            raise click.UsageError(f"there is no verb '{args[0]}'{nearest(args[0], list(VERBS))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, line) for name, (_, line) in VERBS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ale")
def command() -> None:
    """Examine AI agents on real professional work.

    Exit codes: 0 everything asked for was done (for `run`: every run has a score), 1 some run has no score, 2 the
    request was wrong and nothing was started, 130 and 143 stopped by Ctrl-C or SIGTERM.
    """


def main() -> None:
    """Console script: errors that a user can mend are one sentence on stderr, without a traceback."""
    from ale.errors import AleError, InfrastructureError, SandboxUnavailable

    try:
        command(prog_name="ale")
    except AleError as error:
        click.echo(f"ale: {error}", err=True)
        began = isinstance(error, InfrastructureError) and not isinstance(error, SandboxUnavailable)
        sys.exit(1 if began else 2)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        click.echo(f"ale: {error.filename or 'a file'} can't be written: {error.strerror}", err=True)
        sys.exit(1)
