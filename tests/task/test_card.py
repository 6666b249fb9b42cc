"""A card says what a task is; a mistake in it is one sentence with file, line and the nearest valid word."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.task.conftest import CARD, WriteWorkflow

from ale.errors import TaskError
from ale.task.card import Card, read_card
from ale.task.taxonomy import CLUSTERS, SUBDOMAINS

GOOD = CARD.format(name="first", cluster="legal", subdomain="7.1")


def card(write_workflow: WriteWorkflow, text: str) -> Card:
    return read_card(write_workflow(card=text) / "task.yaml")


def test_the_taxonomy_is_whole() -> None:
    assert len(CLUSTERS) == 13
    assert len(SUBDOMAINS) == 55


def test_a_small_card_has_sensible_defaults(write_workflow: WriteWorkflow) -> None:
    read = card(write_workflow, GOOD)
    assert (read.os, read.image, read.grade_on, read.display, read.network.hosts) == (
        "linux",
        "base",
        "fresh",
        None,
        (),
    )


def test_display_and_network_may_be_words_or_details(write_workflow: WriteWorkflow) -> None:
    assert card(write_workflow, GOOD + "display: true\n").display is not None
    assert card(write_workflow, GOOD + "display: false\nnetwork: none\n").display is None
    read = card(write_workflow, GOOD + "display: {width: 1920, height: 1080}\nnetwork: {hosts: [example.org]}\n")
    assert read.display is not None
    assert read.display.width == 1920
    assert read.network.hosts == ("example.org",)


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("tier:", "teir:"), 6, "unknown key 'teir' (did you mean 'tier'?)"),
        (("near-term", "soon"), 6, "near-term"),
        (("legal", "legl"), 3, "there is no cluster 'legl' (did you mean 'legal'?)"),
        (('"7.1"', "7.1"), 4, "write it with quotes"),
        (('"7.1"', '"6.1"'), 4, "subdomain: '6.1' is not one of legal: 7.1 Litigation"),
        (("code:", "kode:"), 5, "unknown key 'kode' (did you mean 'code'?)"),
        (("13-2011.00", "accountant"), 5, "occupation.code"),
        (("time_budget_s: 60", "time_budget_s: 0"), 7, "time_budget_s"),
        (("canary: ale-canary-test", ""), 1, "key 'canary' is missing"),
        (("licence: Apache-2.0", "licence: Apache-2.0\noutputs: [{path: ../x}]"), 11, "must be a path inside output/"),
        (("licence: Apache-2.0", "licence: Apache-2.0\noutputs: [{path: /x}]"), 11, "must be a path inside output/"),
        (("licence: Apache-2.0", "licence: Apache-2.0\noutputs: [{path: a}, {path: a/}]"), 1, "the same path twice"),
        (("licence: Apache-2.0", "licence: Apache-2.0\njudge: gpt"), 1, "needs why_judge"),
        (("licence: Apache-2.0", "licence: Apache-2.0\nlicence: MIT"), 11, "twice"),
        (("id: first", "id: second"), 1, "they must agree"),
        (("criteria: [", "criteria: ["), 8, ""),
    ],
)
def test_mistakes_are_named_with_their_line(
    write_workflow: WriteWorkflow, change: tuple[str, str], line: int, words: str
) -> None:
    if change[0] == change[1]:
        card(write_workflow, GOOD)
        return
    with pytest.raises(TaskError) as caught:
        card(write_workflow, GOOD.replace(*change))
    assert f"task.yaml:{line}: " in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_card_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"task\.yaml does not exist"):
        read_card(tmp_path / "task.yaml")


def test_an_instance_overrides_its_card(write_workflow: WriteWorkflow) -> None:
    read = card(write_workflow, GOOD)
    assert read.for_instance(None) is read
    other = read.for_instance({"os": "windows", "memory_mb": 512, "display": True})
    assert (other.os, other.compute.memory_mb, other.compute.vcpus) == ("windows", 512, read.compute.vcpus)
    assert other.display is not None
    public = read.for_instance({"provider": "computer", "setup_config": {"os_type": "windows"}})
    assert public.os == "windows"
    with pytest.raises(TaskError, match=r"unknown key 'memory' in Task\.computer \(did you mean 'memory_mb'\?\)"):
        read.for_instance({"memory": 1})
    with pytest.raises(TaskError, match="os"):
        read.for_instance({"os": "beos"})
