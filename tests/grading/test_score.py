"""A Score is a number in [0, 1] with reasons, and nothing else passes for one."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale.errors import GraderError
from ale.grading import Part, Score, checklist, gate, weighted

unit = st.floats(0, 1, allow_nan=False)


@pytest.mark.parametrize(
    "nonsense",
    [
        math.nan,
        math.inf,
        -math.inf,
        -0.01,
        1.0000001,
        True,
        False,
        None,
        "1.0",
        b"1",
        [],
        (),
        [0.5, math.nan],
        [True],
        [[]],
        {"value": 1.0},
        object(),
        10**400,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_score_is_a_grader_error(nonsense: object) -> None:
    with pytest.raises(GraderError):
        Score.of(nonsense)


def test_a_number_a_list_and_a_score_become_a_score() -> None:
    assert Score.of(1) == Score(1.0)
    assert Score.of([1.0]) == Score(1.0)
    assert Score.of([1.0, 0.0, 0.5]).value == pytest.approx(0.5)
    assert [part.score.value for part in Score.of([1.0, 0.0]).parts] == [1.0, 0.0]
    given = Score(0.25, sentence="found 1 of 4")
    assert Score.of(given) is given


def test_a_zero_always_has_a_reason_and_a_point_never_has() -> None:
    assert Score(0.0).reason == "wrong"
    assert Score(0.0, "no_output").reason == "no_output"
    assert Score(0.3, "wrong").reason is None
    with pytest.raises(GraderError, match="no_output"):
        Score(0.0, "unlucky")  # type: ignore[arg-type]


@given(st.lists(unit, min_size=1, max_size=30))
def test_a_list_is_its_mean_and_stays_within_bounds(values: list[float]) -> None:
    value = Score.of(values).value
    assert 0.0 <= value <= 1.0
    assert value == pytest.approx(sum(values) / len(values))


scores = st.recursive(
    st.builds(Score, unit, sentence=st.text(max_size=20)),
    lambda inner: st.builds(
        lambda value, parts, details: Score(value, None, tuple(parts), details),
        unit,
        st.lists(st.builds(Part, st.text(max_size=5), st.floats(0, 100), inner), max_size=3),
        st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
    ),
    max_leaves=8,
)


@given(scores)
def test_a_score_survives_json(score: Score) -> None:
    assert Score.from_json(json.loads(json.dumps(score.to_json(), allow_nan=False))) == score


@pytest.mark.parametrize(
    "record", [{}, {"value": 2}, {"value": 0.5, "parts": [1]}, {"value": 1, "details": 3}, [], "x", {"value": None}]
)
def test_a_damaged_record_is_a_grader_error(record: object) -> None:
    with pytest.raises(GraderError):
        Score.from_json(record)  # type: ignore[arg-type]


def test_weights_that_do_not_sum_to_one_still_give_full_marks_exactly() -> None:
    assert weighted({"a": (0.1, Score(1.0)), "b": (0.7, Score(1.0)), "c": (0.3, Score(1.0))}).value == 1.0
    assert weighted({"a": (3, Score(1.0)), "b": (1, Score(0.0))}).value == 0.75


def test_a_weighted_score_shares_the_reason_that_all_its_zeros_have() -> None:
    assert weighted({"a": (1, Score(0, "no_output")), "b": (1, Score(0, "no_output"))}).reason == "no_output"
    assert weighted({"a": (1, Score(0, "no_output")), "b": (1, Score(0, "wrong"))}).reason == "wrong"


@pytest.mark.parametrize("weight", [-1.0, math.nan, True])
def test_impossible_weights_are_grader_errors(weight: float) -> None:
    with pytest.raises(GraderError):
        weighted({"a": (weight, Score(1.0))})


def test_weights_that_sum_to_nothing_are_a_grader_error() -> None:
    with pytest.raises(GraderError):
        weighted({"a": (0, Score(1.0))})


def test_a_gate_lets_everything_or_nothing_through() -> None:
    then = Score(0.4, sentence="4 of 10")
    assert gate({"opens": True}, then).value == 0.4
    shut = gate({"opens": True, "is signed": Score(0.5, sentence="signature is not valid")}, then)
    assert (shut.value, shut.reason) == (0.0, "gate_failed")
    assert "signature is not valid" in shut.sentence


def test_a_checklist_counts_what_is_met() -> None:
    assert checklist({"a": True, "b": False, "c": Score(1.0), "d": False}).value == 0.5
    with pytest.raises(GraderError):
        checklist({})
