"""What a run used, in its report and among the causal factors."""

import csv
import io
import subprocess

from live import DIGCTL
from watching import ask, run_path

CAPABLE = {"capabilities": {"hold": True, "cancel": True, "reroute": True}, "agents": ["planner", "coder"]}
GUARDS = {"guards": {"budget": {"max_cost": 5.0}, "fan_out": {"max_depth": 0, "action": "hold"}}}


def a_run(daemon, name, cost, input_tokens=812, tool_calls=2, **hello):
    with daemon.client(run=name, **CAPABLE, **hello) as c:
        c.event("e1", ["planner"])
        c.start("v1", "planner", ["e1"], usage={"input_tokens": input_tokens, "output_tokens": 95, "cost": cost})
        c.tell("usage", activation="v1", usage={"model_calls": 3, "tool_calls": tool_calls})
        c.event("e2", ["coder"], source="v1")
        c.verdicts()
        c.end("v1", [])
        c.tell("run_ended", outcome="success")
        c.wait_acked()


def report(daemon, run, format):
    return ask(daemon, "GET", run_path(run, f"report?format={format}"))[1].decode()


def test_the_report_shows_what_was_used_against_the_limits(daemon):
    a_run(daemon, "r1", 2.5, **GUARDS)
    shown = report(daemon, "r1", "md")
    for line in (
        "## What it used",
        "| cost | 2.5 | 5 |",
        "| tokens | 907 | none |",
        "| planner | 2.5 | 812 | 95 | 3 | 2 |",
        "The deepest work event has the depth 1 (limit 0).",
        "1 event waited for a person: 0 released, 0 returned, 0 open, 1 ended with the run.",
    ):
        assert line in shown, (line, shown)
    assert "What it used" in report(daemon, "r1", "html")


def test_a_report_without_usage_and_guards_does_not_mention_them(daemon):
    with daemon.client(run="plain", agents=["a"]) as c:
        c.event("e1", ["a"])
        c.wait_acked()
    assert "What it used" not in report(daemon, "plain", "md")


def test_usage_and_holds_are_causal_factors(daemon, tmp_path):
    # A factor that is the same in all runs is left out, so the last run differs in each of them.
    files = []
    for name, tokens, guards in (("r0", 10, GUARDS), ("r1", 10, GUARDS), ("r2", 30, {})):
        a_run(daemon, name, tokens / 4, input_tokens=tokens, tool_calls=tokens // 10, **guards)
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_bytes(ask(daemon, "GET", run_path(name, "trace"))[1])
    got = subprocess.run([DIGCTL, "causal", "factors", *map(str, files)], capture_output=True, text=True)
    assert got.returncode == 0, got.stderr
    rows = list(csv.DictReader(io.StringIO(got.stdout)))
    names = ("cost", "tokens", "tool_calls", "holds", "fired_fan_out")
    assert [tuple(float(row[name]) for name in names) for row in rows] == [
        (2.5, 105, 1, 1, 1),
        (2.5, 105, 1, 1, 1),
        (7.5, 125, 3, 0, 0),
    ]
