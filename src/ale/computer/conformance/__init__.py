"""What every Session must do, as checks that any provider can run against a machine of its own.

    for check in SESSION_CHECKS.values():
        await check.run(make_session)

`make_session` is an async function that returns a Session as root on a machine of this check's own (or one that it
shares: each check works in a directory of its own). A check raises AssertionError, or what escaped, if the Session
does not conform. Checks with `needs_machine` run commands; the others are for fakes too.
"""

from __future__ import annotations

from ale.computer.conformance import delivered, endings, files, output, results, rights, screen, trees
from ale.computer.conformance.check import Check, MakeSession

__all__ = ["SESSION_CHECKS", "Check", "MakeSession"]

SESSION_CHECKS: dict[str, Check] = {
    check.name: check
    for module in (results, output, endings, delivered, files, trees, rights, screen)
    for check in module.checks
}
"""By sentence."""
