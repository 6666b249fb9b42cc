"""Steps from transcripts that were written by hand: shortened histories, odd shapes, lost results."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ale.trajectory import build
from ale.trajectory.build import ABORTED, steps_from_transcript
from ale.trajectory.clock import Moment
from ale.trajectory.readers import readers
from ale.trajectory.schema import Step, Usage
from ale.trajectory.transcript import Call, TranscriptWriter

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 2000


class Agent:
    """Writes a transcript as an Anthropic harness would cause it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = TranscriptWriter(folder, "run")
        self.messages: list[Any] = [{"role": "user", "content": "Do it."}]
        self.calls = 0

    def ask(self, *blocks: dict[str, Any], **changes: Any) -> None:
        """A call with the present history, answered with these blocks, which are added to it."""
        self.calls += 1
        now = Moment.now()
        call = Call(
            n=self.calls,
            kind="model",
            method="POST",
            path="/v1/messages",
            status=200,
            start=now,
            end=Moment.now(),
            dialect="anthropic",
            response={"content": list(blocks)},
            usage=Usage(),
        )
        self.writer.append(replace(call, **changes), {"messages": list(self.messages)})
        self.messages.append({"role": "assistant", "content": list(blocks)})

    def result(self, use: str, content: Any, **more: Any) -> None:
        block = {"type": "tool_result", "tool_use_id": use, "content": content, **more}
        self.messages.append({"role": "user", "content": [block]})

    def steps(self) -> list[Step]:
        self.writer.close()
        return list(steps_from_transcript(self.folder))


def use(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": args}


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def texts(steps: Sequence[Step]) -> list[str | None]:
    return [step.observation.text if step.observation else None for step in steps]


def test_a_compacted_history_makes_no_step_twice(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    for number in range(6):
        agent.ask(use(f"t{number}", command=f"echo {number}"))
        agent.result(f"t{number}", f"out {number}")
        if number == 3:
            agent.messages = [{"role": "user", "content": "Summary of before."}, *agent.messages[-2:]]
    agent.ask(say("Done."))
    steps = agent.steps()
    assert [step.step for step in steps] == list(range(1, 8))
    assert texts(steps) == [*(f"out {number}" for number in range(6)), None]


def test_a_result_that_comes_much_later_finds_its_step(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.ask(use("task"))
    main, agent.messages = agent.messages, [{"role": "user", "content": "You are a helper."}]
    for number in range(5):
        agent.ask(use(f"h{number}"))
        agent.result(f"h{number}", f"helper {number}")
    agent.ask(say("Helped."))
    agent.messages = main
    agent.result("task", "the helper is done")
    agent.ask(say("Done."))
    assert texts(agent.steps()) == ["the helper is done", *(f"helper {n}" for n in range(5)), None, None]


def test_what_never_gets_a_result_does_not_hold_the_rest_back_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "WINDOW", 10)
    agent = Agent(tmp_path)
    agent.ask(use("lost"))
    for number in range(30):
        agent.ask(use(f"t{number}"))
        agent.result(f"t{number}", f"out {number}")
    agent.ask(say("Done."))
    assert texts(agent.steps()) == [None, *(f"out {number}" for number in range(30)), None]


def test_a_tool_that_failed_says_so_in_error(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.ask(use("a"), use("b"))
    agent.result("a", "no such file", is_error=True)
    agent.result("b", "", is_error=True)
    agent.ask(say("Done."))
    a, b, _ = agent.steps()
    assert a.observation is not None
    assert b.observation is not None
    assert (a.observation.text, a.observation.error) == (None, "no such file")
    assert b.observation.error


def test_several_pictures_are_all_kept(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    jpeg = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\xff\xd8\xff" + b"x").decode()}
    damaged = {"type": "base64", "media_type": "image/png", "data": "%%%"}
    link = {"type": "url", "url": "https://pictures.invalid/a.png"}
    agent = Agent(tmp_path)
    agent.ask(use("a"))
    blocks = [{"type": "image", "source": one} for one in (source, jpeg, damaged, link)]
    agent.result("a", [say("look:"), *blocks])
    agent.ask(say("Done."))
    step, _ = agent.steps()
    assert step.observation is not None
    assert step.observation.image_path == "traj/screenshots/step_1.png"
    assert (tmp_path / "traj/screenshots/step_1.png").read_bytes() == PNG
    assert (tmp_path / "traj/screenshots/step_1_2.jpg").exists()
    assert step.observation.text is not None
    assert step.observation.text.splitlines()[0] == "look:"
    assert "step_1_2.jpg" in step.observation.text
    assert "https://pictures.invalid/a.png" in step.observation.text


def test_failed_and_helper_calls(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.ask(say("never said"), status=529, response={"type": "error"})
    agent.ask(say("counted"), kind="count_tokens")
    agent.ask(use("a"), aborted=True)
    [step] = agent.steps()
    assert step.call_id == 3
    assert step.observation is not None
    assert step.observation.error == ABORTED


HOSTILE: list[Any] = [
    None,
    5,
    "text",
    [],
    {},
    {"role": "user"},
    {"role": "user", "content": [None, 5, {"type": "tool_result"}, {"type": "tool_result", "tool_use_id": ["x"]}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": {"type": "text"}}]},
    {"role": "user", "content": [{"type": "image", "source": "x"}, {"type": "image", "source": {"data": 5}}]},
    {"role": "tool", "tool_call_id": {}, "content": [{"type": "text", "text": {}}]},
    {"role": "tool", "content": [{"type": "image_url", "image_url": {"url": []}}]},
    {"content": [{"type": "tool_use", "input": [1], "name": None, "id": None}, {"type": "text", "text": None}]},
    {
        "choices": [
            {"message": {"content": 5, "tool_calls": [{"function": {"arguments": {"a": 1}}}, 5, {"function": 5}]}}
        ]
    },
    {"choices": [{"message": {"tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "[" * 5000}}]}}]},
]


@pytest.mark.parametrize("dialect", sorted(readers()))
def test_shapes_that_no_dialect_has_are_passed_over(tmp_path: Path, dialect: str) -> None:
    agent = Agent(tmp_path)
    for odd in HOSTILE:
        agent.messages = [*HOSTILE, odd]
        agent.ask(dialect=dialect, response=odd)
    steps = agent.steps()
    assert len(steps) >= len(HOSTILE)
    assert json.dumps([step.model_dump(mode="json") for step in steps])


def test_a_run_without_calls_has_no_steps(tmp_path: Path) -> None:
    assert Agent(tmp_path).steps() == []
    with pytest.raises(FileNotFoundError):
        list(steps_from_transcript(tmp_path / "nowhere"))
