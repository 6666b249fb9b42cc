"""One exam over several images: each agent gets the layer that was built on its own machine's image."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

import pytest
from tests.exam.agents import AGENTS, LayerRecipe, Scripted, waits_for_nothing
from tests.exam.conftest import Bench

from ale.computer.fake import FakeReply
from ale.sandbox.fake import FakeProvider
from ale.sandbox.protocol import Sandbox, SandboxSpec


class WithLayer(Scripted):
    def layer(self) -> LayerRecipe | None:
        return LayerRecipe("tool")


class Noting(FakeProvider):
    """Remembers what was asked of it."""

    def __init__(self) -> None:
        super().__init__(commands={"*": lambda call: FakeReply()}, images=("base", "other"))
        self.layers: Mapping[str, tuple[str, ...]] = {}

    async def create(self, spec: SandboxSpec) -> Sandbox:
        self.layers = {**self.layers, spec.image: spec.layers}
        return await super().create(spec)


async def test_a_layer_belongs_to_its_image(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS, "with-layer", WithLayer("with-layer", waits_for_nothing))
    shutil.copytree(bench.workflow, bench.workflow.with_name("other"))
    card = bench.workflow.with_name("other") / "task.yaml"
    card.write_text(card.read_text().replace("id: sums", "id: other\nimage: other"))
    provider = Noting()
    monkeypatch.setattr("ale.exam.conductor.open_provider", lambda name: provider)
    plan = await bench.plan("with-layer", tasks=["computing_math/*"], sandbox={"provider": "fake"})
    results = await bench.carry_out(plan)
    assert [result.error for result in results] == [None, None]
    assert provider.layers == {
        image: (LayerRecipe("tool").digest(provider.identity(image).content),) for image in ("base", "other")
    }
    assert {result.digests["harness"] for result in results} == {layers[0] for layers in provider.layers.values()}
