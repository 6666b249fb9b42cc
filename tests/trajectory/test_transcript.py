"""The transcript: every body comes back exactly, and a long run's file grows with what is new, not with its history."""

from __future__ import annotations

import base64
import copy
import itertools
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ale.trajectory.clock import Moment
from ale.trajectory.transcript import FILE, MASK, Call, TranscriptError, TranscriptWriter, read_transcript


def call(n: int, **changes: Any) -> Call:
    now = Moment.now()
    return Call(n=n, kind="model", method="POST", path="/v1/messages", status=200, start=now, end=now, **changes)


def written(folder: Path, bodies: list[Any], secrets: tuple[str, ...] = ()) -> int:
    writer = TranscriptWriter(folder, "run", secrets)
    for n, body in enumerate(bodies, start=1):
        writer.append(call(n), body)
    writer.close()
    return writer.bytes_written


def exact(value: Any) -> str:
    """Tells apart what JSON tells apart: key order, 1 and 1.0 and true."""
    return json.dumps(value)


text = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(["$blob", "$literal", "a" * 70_000])
scalar = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
value = st.recursive(
    scalar, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=8
)
key = st.sampled_from(["messages", "tools", "system", "model", "input", "stream"]) | text


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Requests as agents send them: growing, cut, changed in the middle, interleaved, and sometimes anything at all."""
    pool = draw(st.lists(value, min_size=1, max_size=6))
    bodies: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 14))):
        base = (
            draw(st.sampled_from(bodies))
            if bodies and draw(st.integers(0, 5))
            else draw(st.dictionaries(key, value, max_size=4))
        )
        body = copy.deepcopy(base)
        history = body.get("messages")
        history = history if isinstance(history, list) else []
        change = draw(st.sampled_from(["grow", "cut", "replace", "drop front", "reorder", "none"]))
        if change == "grow":
            history = history + draw(st.lists(st.sampled_from(pool), max_size=4))
        elif change == "cut":
            history = history[: draw(st.integers(0, len(history)))]
        elif change == "replace" and history:
            history[draw(st.integers(0, len(history) - 1))] = draw(st.sampled_from(pool))
        elif change == "drop front":
            history = history[draw(st.integers(0, len(history))) :]
        elif change == "reorder":
            history = draw(st.permutations(history))
        bodies.append({**body, "messages": history})
    return bodies


@settings(max_examples=120, deadline=None)
@given(conversations())
def test_every_body_comes_back_exactly(bodies: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), bodies)
        read = [record.body() for record in read_transcript(Path(folder))]
    assert [exact(body) for body in read] == [exact(body) for body in bodies]


@settings(max_examples=40, deadline=None)
@given(value)
def test_every_response_comes_back_exactly(response: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = TranscriptWriter(folder, "run")
        writer.append(call(1, response=response), None)
        writer.close()
        [record] = read_transcript(folder)
    assert exact(record.call.response) == exact(response)


def turn(n: int) -> list[dict[str, Any]]:
    return [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "x" * 200}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n} " + "y" * 500}]},
    ]


def plain(history: list[Any], n: int) -> list[Any]:
    return history


def cache_marks_move(history: list[Any], n: int) -> list[Any]:
    last = copy.deepcopy(history[-1])
    if isinstance(last["content"], list):
        last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return [*history[:-1], last]


def first_message_changes(history: list[Any], n: int) -> list[Any]:
    return [{"role": "user", "content": f"Do the task. {n} steps so far."}, *history[1:]]


def old_results_are_cleared(history: list[Any], n: int) -> list[Any]:
    at = max(1, len(history) - 20)
    return [
        *history[:at],
        *[{"role": m["role"], "content": "cleared"} if i % 9 == 0 else m for i, m in enumerate(history[at:])],
    ]


def two_agents_take_turns(history: list[Any], n: int) -> list[Any]:
    return history if n % 2 else [{"role": "user", "content": "You are a helper."}, *history[1:]]


@pytest.mark.parametrize(
    "shape", [plain, cache_marks_move, first_message_changes, old_results_are_cleared, two_agents_take_turns]
)
def test_a_long_run_grows_linearly(tmp_path: Path, shape: Any) -> None:
    history: list[Any] = [{"role": "user", "content": "Do the task."}]
    common = {"model": "m", "system": "s" * 5000, "tools": [{"name": f"t{i}", "schema": "z" * 300} for i in range(30)]}
    writer = TranscriptWriter(tmp_path, "run")
    sizes = [0]
    calls = 400 if shape is not plain else 2000
    for n in range(1, calls + 1):
        writer.append(call(n), {**common, "messages": shape(history, n), "stream": True})
        history += turn(n)
        if n % (calls // 4) == 0:
            sizes.append(writer.bytes_written)
    writer.close()
    quarters = [after - before for before, after in itertools.pairwise(sizes)]
    assert quarters[-1] < 1.3 * quarters[0] + 2000
    assert sizes[-1] < calls * 9000


def test_pictures_become_blobs_once(tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n" + os.urandom(50_000)
    data = base64.b64encode(png).decode()
    picture = {"type": "image", "source": {"type": "base64", "data": data}}
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}}
    bodies = [{"messages": [picture]}, {"messages": [picture, url]}, {"messages": [{"again": picture}, "n" * 100_000]}]
    total = written(tmp_path, bodies)
    blobs = sorted((tmp_path / "blobs").iterdir())
    assert len(blobs) == 2
    assert png in [blob.read_bytes() for blob in blobs]
    assert (tmp_path / FILE).stat().st_size < 4000
    assert total < 155_000
    assert [record.body() for record in read_transcript(tmp_path)] == bodies


@pytest.mark.parametrize(
    "almost", ["A" * 4096 + "=", "A" * 4097, "A" * 4095 + "!", "A" * 4094 + "B=", "A" * 4095 + "\n"]
)
def test_what_is_almost_base64_stays_exact(tmp_path: Path, almost: str) -> None:
    bodies = [{"messages": [almost, "data:image/png;base64," + almost]}]
    written(tmp_path, bodies)
    assert [record.body() for record in read_transcript(tmp_path)] == bodies


def test_secrets_are_masked_wherever_they_stand(tmp_path: Path) -> None:
    secret = 'quo"te-ünïcode'
    body = {"messages": [{"content": f"a {secret} b"}, {secret: 1}], secret: [secret], "system": secret}
    writer = TranscriptWriter(tmp_path, "run", (secret,))
    writer.append(call(1, response={"text": secret}, error=f"bad {secret}", model=secret), body)
    writer.append(call(2), secret.encode())
    writer.close()
    assert json.dumps(secret)[1:-1] not in (tmp_path / FILE).read_text()
    first, second = read_transcript(tmp_path)
    assert first.body() == {"messages": [{"content": f"a {MASK} b"}, {MASK: 1}], MASK: [MASK], "system": MASK}
    assert (first.call.response, first.call.error, first.call.model) == ({"text": MASK}, f"bad {MASK}", MASK)
    assert second.raw == MASK


def test_an_unfinished_last_line_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, [{"messages": [1]}, {"messages": [1, 2]}])
    whole = (tmp_path / FILE).read_bytes()
    for cut in (1, 40, 200):
        (tmp_path / FILE).write_bytes(whole[:-cut])
        assert [record.body() for record in read_transcript(tmp_path)] == [{"messages": [1]}]


def test_damage_in_the_middle_names_the_line(tmp_path: Path) -> None:
    written(tmp_path, [{"messages": [1]}, {"messages": [1, 2]}, {"messages": [1, 2, 3]}])
    lines = (tmp_path / FILE).read_bytes().splitlines(keepends=True)
    (tmp_path / FILE).write_bytes(b"".join([*lines[:2], b"{}\n", *lines[3:]]))
    with pytest.raises(TranscriptError, match="line 3"):
        list(read_transcript(tmp_path))
    (tmp_path / FILE).write_bytes(b"".join([*lines[:2], lines[2].replace(b'{"item":2}', b'{"item":7}'), lines[3]]))
    with pytest.raises(TranscriptError, match="digest"):
        [record.body() for record in read_transcript(tmp_path)]


def test_a_second_transcript_does_not_overwrite_the_first(tmp_path: Path) -> None:
    written(tmp_path, [{"messages": [1]}])
    with pytest.raises(FileExistsError):
        TranscriptWriter(tmp_path, "run")


def test_bodies_that_are_no_json_are_kept_at_their_beginning(tmp_path: Path) -> None:
    written(tmp_path, [b"\xff\0 no json" + b"x" * 100_000, None])
    broken, empty = read_transcript(tmp_path)
    assert broken.body() is None
    assert broken.raw is not None
    assert broken.raw.startswith("\ufffd\0 no json")
    assert (empty.body(), empty.raw, empty.fresh()) == (None, None, [])
    assert (tmp_path / FILE).stat().st_size < 5000
