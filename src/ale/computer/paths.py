"""Where things are inside every sandbox, and who is who there."""

from __future__ import annotations

from typing import Literal

INPUT = "/task/input"
SOFTWARE = "/task/software"
OUTPUT = "/task/output"
REFERENCE = "/task/reference"
AGENT_HOME = "/home/agent"

User = Literal["root", "agent", "display"]
UIDS: dict[User, int] = {"root": 0, "display": 990, "agent": 1000}

DOOR_PORT = 7700
DOOR_URL = f"http://127.0.0.1:{DOOR_PORT}"
"""The one address that an agent can reach, the same on every provider."""
