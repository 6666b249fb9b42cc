"""Agents that attack: a suite that any provider can be put through, with what is defined to come of each attack."""

from __future__ import annotations

from ale.sandbox.hostile.attack import Attack, Ending, Host, strike
from ale.sandbox.hostile.delivered import DELIVERED
from ale.sandbox.hostile.exhaustion import EXHAUSTION
from ale.sandbox.hostile.kernel import KERNEL
from ale.sandbox.hostile.network import NETWORK
from ale.sandbox.hostile.output import OUTPUT
from ale.sandbox.hostile.reference import REFERENCE
from ale.sandbox.hostile.sabotage import SABOTAGE
from ale.sandbox.hostile.server import SERVER
from ale.sandbox.hostile.survivors import SURVIVORS

__all__ = ["ATTACKS", "Attack", "Ending", "Host", "strike"]

ATTACKS: tuple[Attack, ...] = (
    *REFERENCE,
    *SERVER,
    *KERNEL,
    *NETWORK,
    *SURVIVORS,
    *SABOTAGE,
    *EXHAUSTION,
    *OUTPUT,
    *DELIVERED,
)
