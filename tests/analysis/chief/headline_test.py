"""The headline of `attribute chief` for every labelled log: right at least as often as `digctl eval` says, and no table
contradicts it."""

import json
import re

import pytest
from labelled_logs import check_accuracy, digctl_output, each_log, named


@pytest.fixture(scope="module")
def headlines():
    """Of each log: its file, its labels, the text of `attribute chief`, and its JSON."""

    def read(file, labels):
        text = digctl_output("attribute", "chief", file, "--top", 1_000)
        machine = json.loads(digctl_output("attribute", "chief", file, "--top", 1_000, "--format", "json"))
        return file, labels, text, machine

    return each_log(read)


def test_a_headline_is_right_at_least_as_often_as_eval_says(headlines):
    check_accuracy([(file.parent.name, labels, text.splitlines()[0]) for file, labels, text, _ in headlines])


def test_no_headline_contradicts_the_table_below_it(headlines):
    for file, _, text, machine in headlines:
        name = named(text.splitlines()[0])
        verdict = machine["verdict"]
        assert text.splitlines()[0] == verdict["words"], file
        assert (name is not None) == (verdict["kind"] == "suspect"), file
        ranking = machine["ranking"]
        shares = [s["probability"] for s in ranking if not s["proven"]]
        assert shares == sorted(shares, reverse=True), f"{file}: not sorted by the displayed score"
        if name is None:
            assert "agent" not in verdict and not any(s["proven"] for s in ranking), file
            scores = re.search(r"most suspect step has (\d+) % and the next (\d+) %", verdict["words"])
            assert scores and [int(n) for n in scores.groups()] == [round(100 * p) for p in shares[:2]], file
            continue
        assert (verdict["agent"], verdict["step"]) == name, file
        row = next(s for s in ranking if (s["agent"], s["step"]) == name)
        faults = [e["says"] for e in row["chain"] if e["accuses"]]
        assert faults and faults[0] in verdict["words"], f"{file}: no evidence"
        # The agent is the first of the table's agents, and the step is the most likely one of this agent.
        assert name[0] == machine["agents"][0]["agent"], file
        of_agent = [s for s in ranking if s["agent"] == name[0]]
        assert row["proven"] or row["probability"] == max(s["probability"] for s in of_agent), file
        if not row["proven"]:
            share = re.search(r"Confidence: \w+ \((?:the agent .+?; its step )?(\d+) %", verdict["words"])
            assert int(share.group(1)) == round(100 * row["probability"]), file
            # A step that is not the table's first is named for its agent; the headline has the agent's share.
            assert row is ranking[0] or "(the agent " in verdict["words"], file
