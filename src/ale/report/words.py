"""What the recorded values mean, in words for a reader of the page who has never seen this program."""

from __future__ import annotations

from ale.exam.result import Integrity
from ale.outcome import MEANING, AgentEnd, Outcome

OUTCOMES = {
    Outcome.SCORED: "The grader returned a score.",
    Outcome.UNSCORED_GRADER: "The grader or the task's own code failed. That says nothing about the agent's work.",
    Outcome.UNSCORED_JUDGE: "A judge was unreachable or undecided. That says nothing about the agent's work.",
    Outcome.UNSCORED_INFRASTRUCTURE: "The machine, the network or the model provider failed. That says nothing about "
    "the agent.",
    Outcome.UNSCORED_HARNESS: "The agent's program could not be installed or started, or made no model call.",
    Outcome.CANCELLED: "A person stopped the run.",
}

REASONS = {
    "no_output": "nothing was delivered",
    "wrong_shape": "what was delivered does not have the form that was asked for",
    "gate_failed": "a condition that everything else hangs on was not met",
    "wrong": "it was delivered, and it is wrong",
}

AGENT_ENDS = {
    AgentEnd.FINISHED: "it said that it was done",
    AgentEnd.TIME_LIMIT: "its time was up; what it had left by then is graded",
    AgentEnd.COST_LIMIT: "its money was spent; what it had left by then is graded",
    AgentEnd.TOKEN_LIMIT: "its tokens were used up; what it had left by then is graded",
    AgentEnd.STEP_LIMIT: "it had made all its steps; what it had left by then is graded",
    AgentEnd.CRASHED: "its program ended with an error or destroyed its machine; what it had left is graded",
    AgentEnd.GAVE_UP: "it said that it gave up",
}

GRADED_ON = {
    "fresh": "a new machine from the same image, which the agent never saw",
    "fork": "a copy of the agent's frozen machine",
    "same": "the agent's own machine, frozen",
    "none": "no machine: the grading was not reached, or needed none",
}

PHASES = {
    "plan": "what is to be run is worked out",
    "provision": "the agent's machine is made",
    "stage": "input files are put in place",
    "start": "the task brings the machine to its starting state",
    "agent": "the agent works",
    "freeze": "every process of the agent is killed",
    "collect": "what it left is taken out of the machine",
    "reference": "only now the answer key; the grading machine is made",
    "evaluate": "the grader judges",
    "record": "the run folder is completed",
    "release": "the machines are destroyed",
}

_SEEN_BY = {"guest": "inside the machine", "host": "the host"}


def counted(outcome: Outcome) -> str:
    """How an outcome without a score counts in means."""
    meaning = MEANING[outcome]
    if not meaning.strict_zero:
        return "The run is left out of both means."
    return "The run counts as 0 in the strict mean and is left out of the lenient mean."


def freeze(integrity: Integrity) -> tuple[str, list[str]]:
    """One sentence, and the processes that were killed."""
    report = integrity.freeze
    if report is None:
        return "not reached", []
    killed = [str(each) for each in report.get("killed", ())]
    checked = [_SEEN_BY.get(str(each), str(each)) for each in report.get("checked", ())]
    seen = f"that none is left was seen from {' and '.join(checked)}" if checked else "nobody looked for survivors"
    return f"{len(killed)} process{'' if len(killed) == 1 else 'es'} of the agent killed; {seen}", killed
