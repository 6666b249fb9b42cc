"""The whole error model: what can go wrong, and whose fault each kind is.

Every message is one sentence for a person: what happened, to what, and what to do. The class decides the run's outcome
(`ale.outcome`), never the text. Built-in exceptions keep their meaning (`FileNotFoundError`, `PermissionError`,
`TimeoutError`); what escapes from task code is wrapped at the one boundary that knows which phase ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ale.computer.session import CommandResult


class AleError(Exception):
    """Any error of this package that is not a plain built-in one."""


class UsageError(AleError):
    """The user asked for something that does not exist or does not fit; nothing was started. Exit code 2."""


class InfrastructureError(AleError):
    """Machine, network or model provider failed; the run becomes `unscored.infrastructure` and may be retried."""


class SandboxUnavailable(InfrastructureError):
    """No sandbox could be made; nothing is left of the attempt."""


class SandboxLost(InfrastructureError):
    """A sandbox that answered before no longer does; everything in it is lost, what was collected stays."""

    def __init__(self, sandbox: str, evidence: str) -> None:
        super().__init__(f"sandbox {sandbox} no longer answers: {evidence}")
        self.sandbox = sandbox
        self.evidence = evidence


class GatewayLost(InfrastructureError):
    """The gateway process ended; no agent can call a model any more."""


class HarnessError(AleError):
    """The harness could not be installed or started; the run becomes `unscored.harness`."""


class TaskError(AleError):
    """Task code or a task folder is broken; says workflow, file and line. In a run it becomes `unscored.grader`."""


class GraderError(AleError):
    """evaluate() crashed, hung or returned nonsense, or the reference is missing; the run becomes `unscored.grader`."""


class JudgeError(AleError):
    """A judge was unreachable or undecided; the run becomes `unscored.judge`."""


class CommandFailed(RuntimeError):
    """A command ended with a non-zero exit code and the caller had asked for `check=True`. The machine is unharmed."""

    def __init__(self, command: str, result: CommandResult) -> None:
        tail = (result.stderr or result.stdout).strip()[-400:]
        super().__init__(f"command exited with {result.return_code}: {command[:200]}" + (f": {tail}" if tail else ""))
        self.command = command
        self.result = result


class CommandTimeout(TimeoutError):
    """A command ran into its time limit. It and all its descendants are dead; `result` holds what it had printed."""

    def __init__(self, command: str, seconds: float, result: CommandResult) -> None:
        super().__init__(f"command was stopped after {seconds:g} s: {command[:200]}")
        self.command = command
        self.seconds = seconds
        self.result = result
