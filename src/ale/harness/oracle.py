"""The oracle plays the task's own solve(): one known way to full marks."""

from __future__ import annotations

from ale.harness.protocol import AgentContext, AgentResult
from ale.sandbox.layers import LayerRecipe


class Oracle:
    name = "oracle"
    uses_model = False
    settings: tuple[str, ...] = ()

    def layer(self) -> LayerRecipe | None:
        return None

    async def run(self, context: AgentContext) -> AgentResult:
        await context.solve()
        return AgentResult("finished", last_message="solve() returned")
