"""The headline of every labelled log: right at least as often as `digctl eval` says, and no table contradicts it.

The logs lie beside the repository, or where DIGD_WHOWHEN_DIR says. Without them nothing is measured, and a warning in
the summary of pytest says that.
"""

import json
import os
import re
import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

LOGS = Path(os.environ.get("DIGD_WHOWHEN_DIR") or Path(__file__).parents[4] / "shared/data/whowhen")
NAMED = re.compile(r"^(?:Most likely|Proven:) (.+?), step (\d+)(?:: “|\. )")


@pytest.fixture(scope="module")
def headlines():
    """Of each log: its subset, its labels, the text of `attribute chief`, and its JSON."""
    if not LOGS.is_dir():
        warnings.warn(f"NOT MEASURED: there are no labelled logs in {LOGS}; set DIGD_WHOWHEN_DIR", stacklevel=1)
        return []

    def run(*args):
        done = subprocess.run(
            [os.environ["DIGCTL_BIN"], "attribute", "chief", *map(str, args)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read(file):
        labels = json.loads(file.read_text())
        text = run(file, "--top", 1_000)
        machine = json.loads(run(file, "--top", 1_000, "--format", "json"))
        return file, labels, text, machine

    files = sorted(LOGS.glob("*/*.json"))
    assert files, f"{LOGS} has no logs"
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(read, files))


def named(text):
    """The agent and step that a headline names; None if it names nobody."""
    line = text.splitlines()[0]
    found = NAMED.match(line)
    assert found or line.startswith("Nobody stands out") or line.startswith("The run succeeded"), line
    return (found.group(1), int(found.group(2))) if found else None


def test_a_headline_is_right_at_least_as_often_as_eval_says(headlines, digctl):
    measured = json.loads(digctl("eval", "whowhen", LOGS, "--format", "json").stdout) if headlines else {}
    for subset, methods in measured.items():
        of_subset = [(labels, named(text)) for file, labels, text, _ in headlines if file.parent.name == subset]
        assert len(of_subset) == methods["chief"]["n"]
        blamed = [(labels, name) for labels, name in of_subset if name is not None]
        assert blamed, f"{subset}: no headline names anybody"
        agents = sum(name[0] == labels["mistake_agent"] for labels, name in blamed)
        steps = sum(name[1] == int(labels["mistake_step"]) for labels, name in blamed)
        print(f"{subset}: {len(blamed)} of {len(of_subset)} name somebody; agent {agents}, step {steps} right")
        assert agents / len(blamed) >= methods["chief"]["agent"] - 1e-9, subset
        assert steps / len(blamed) >= methods["chief"]["step"] - 1e-9, subset


def test_no_headline_contradicts_the_table_below_it(headlines):
    for file, _, text, machine in headlines:
        name = named(text)
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
        assert any(e["weight"] > 0 for e in row["chain"]) or row["proven"], f"{file}: no evidence"
        # The agent is the first of the table's agents, and the step is the most likely one of this agent.
        assert name[0] == machine["agents"][0]["agent"], file
        of_agent = [s for s in ranking if s["agent"] == name[0]]
        assert row["proven"] or row["probability"] == max(s["probability"] for s in of_agent), file
        if not row["proven"]:
            share = re.search(r"Confidence: \w+ \((\d+) %", verdict["words"])
            assert int(share.group(1)) == round(100 * row["probability"]), file
            # A step that is not the table's first is named for its agent; the headline has the agent's share.
            assert row is ranking[0] or "; the agent " in verdict["words"], file
