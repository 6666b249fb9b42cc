"""The idle agent does nothing: whatever scores above 0 with it is a fault of the task."""

from __future__ import annotations

from ale.harness.protocol import AgentContext, AgentResult
from ale.sandbox.layers import LayerRecipe


class Idle:
    name = "idle"
    uses_model = False
    settings: tuple[str, ...] = ()

    def layer(self) -> LayerRecipe | None:
        return None

    async def run(self, context: AgentContext) -> AgentResult:
        return AgentResult("finished", last_message="did nothing, as it should")
