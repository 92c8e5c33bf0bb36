"""Reruns from a checkpoint: a hint at the right step flips the outcome, another does not; the thread is unharmed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import digd.langgraph
import rerun_team
from client_helpers import url_of
from digd.langgraph.rerun import RerunError, fisher, rerun

THREAD = {"configurable": {"thread_id": "boats"}}
TEAM = Path(rerun_team.__file__)


@pytest.fixture
def team(tmp_path, monkeypatch):
    monkeypatch.setenv("DIGD_TEST_CHECKPOINTS", str(tmp_path / "checkpoints.db"))
    graph = rerun_team.graph()
    values = graph.invoke({"messages": [], "figure": 0, "answer": ""}, THREAD)
    assert not rerun_team.solved(values)
    return graph


def states(graph):
    return [(s.config["configurable"]["checkpoint_id"], s.values) for s in graph.get_state_history(THREAD)]


def test_a_hint_before_the_wrong_step_flips_the_outcome(team):
    got = rerun(team, "boats", "researcher", rerun_team.solved, "Please mind the year.")
    assert (got.with_hint.succeeded, got.without_hint.succeeded, got.flips) == (5, 0, "yes")
    assert got.p < 0.01 and not got.original and got.nodes == ["researcher"]
    assert "The hint flips the outcome" in got.words()


def test_a_hint_after_the_wrong_step_or_without_help_does_not_flip_it(team):
    late = rerun(team, "boats", "writer", rerun_team.solved, "Please mind the year.")
    assert (late.with_hint.succeeded, late.without_hint.succeeded, late.flips) == (0, 0, "no")
    useless = rerun(team, "boats", "researcher", rerun_team.solved, "Please hurry.")
    assert (useless.with_hint.succeeded, useless.flips) == (0, "no")
    assert "does not flip" in useless.words()


def test_one_repetition_decides_nothing(team):
    assert rerun(team, "boats", "researcher", rerun_team.solved, "mind the year", n=1).flips == "open"


def test_the_thread_keeps_its_state_and_history(team):
    before = states(team)
    rerun(team, "boats", "researcher", rerun_team.solved, "mind the year", n=2)
    assert states(team) == before


def test_steps_are_named_by_number_and_by_node(team):
    by_name = rerun(team, "boats", "researcher:1", rerun_team.solved, n=1)
    assert by_name.step == 2
    assert rerun(team, "boats", "2", rerun_team.solved, n=1).nodes == ["researcher"]


def test_a_run_that_cannot_be_rerun_is_refused_with_the_reason(team):
    with pytest.raises(RerunError, match=r"no such step. Steps: .*2: researcher"):
        rerun(team, "boats", "nobody", rerun_team.solved)
    with pytest.raises(RerunError, match="no thread 'fish'"):
        rerun(team, "fish", "researcher", rerun_team.solved)
    with pytest.raises(RerunError, match="no such key. Keys: answer"):
        rerun(team, "boats", "researcher", rerun_team.solved, "x", hint_key="notes")


def test_the_activation_that_attribution_names_is_the_one_that_is_rerun(daemon, tmp_path, monkeypatch):
    monkeypatch.setenv("DIGD_TEST_CHECKPOINTS", str(tmp_path / "rounds.db"))
    team = rerun_team.rounds()
    digd.langgraph.instrument(team, url=url_of(daemon), run_id=lambda config: config["configurable"]["thread_id"])
    graph = team.compile(checkpointer=rerun_team.saver())
    thread = {"configurable": {"thread_id": "fish"}}
    graph.invoke({"log": []}, thread)
    digctl = os.environ.get("DIGCTL_BIN", "digctl")
    words = [digctl, "attribute", "chief", "fish", "--to", daemon.address, "--format", "json", "--top", "100"]
    got = subprocess.run(words, capture_output=True, text=True, check=True)
    suspects = [s for s in json.loads(got.stdout)["ranking"] if "activation" in s]
    by_activation = {(s["agent"], s["activation"]) for s in suspects}
    assert {("catcher", n) for n in range(1, 6)} < by_activation, got.stdout
    # Round 1: one catcher; round 2: three at once; round 3: one.
    steps = [rerun(graph, "fish", f"catcher:{n}", bool, n=1).step for n in range(1, 6)]
    assert steps == [2, 4, 4, 4, 6]
    with pytest.raises(RerunError, match="no such step"):
        rerun(graph, "fish", "catcher:6", bool)


def test_progress_is_shown_on_a_terminal_and_cleared(team, monkeypatch, capsys):
    rerun(team, "boats", "researcher", rerun_team.solved, "Please mind the year.", n=2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    rerun(team, "boats", "researcher", rerun_team.solved, "Please mind the year.", n=2)
    shown = capsys.readouterr().err.split("\r\x1b[K")
    assert [text for text in shown if text] == [
        f"rerunning {kind} the hint: {done} of 2" for kind in ("without", "with") for done in (0, 1)
    ]
    assert shown[-1] == ""


def test_fishers_test_is_the_known_one():
    assert fisher(5, 5, 0, 5) == pytest.approx(1 / 252)
    assert fisher(3, 5, 1, 5) == pytest.approx(55 / 210)  # scipy.stats.fisher_exact gives 0.2619
    assert fisher(0, 5, 0, 5) == 1


def test_the_command_prints_the_comparison(team):
    words = ["boats", "--graph", f"{TEAM}:graph", "--check", f"{TEAM}:solved", "--from", "researcher"]
    command = [sys.executable, "-m", "digd.langgraph.rerun", *words]
    got = subprocess.run(
        [*command, "--hint", "mind the year", "--format", "json"], capture_output=True, text=True, env=dict(os.environ)
    )
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout)["flips"] == "yes"
    digctl = os.environ.get("DIGCTL_BIN")
    if digctl:
        words = [digctl, "rerun", *words, "--hint", "mind the year", "--python", sys.executable]
        by_digctl = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ))
        assert by_digctl.returncode == 0, by_digctl.stderr
        assert "The hint flips the outcome" in by_digctl.stdout
    wrong = subprocess.run([*command[:-1], "nobody"], capture_output=True, text=True, env=dict(os.environ))
    assert wrong.returncode == 2 and "no such step" in wrong.stderr and wrong.stdout == ""
