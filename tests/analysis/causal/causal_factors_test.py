"""digctl causal factors: the table of factors, its windows, and names that clients choose."""

import csv
import io
import json

import pytest
import team
from causal_calls import causal, explained

EVIL = 'a"\x1b[2J\u202eb,=1'


def test_the_factor_table_has_every_factor_and_reads_back(digctl, runs, tmp_path):
    path = tmp_path / "t.csv"
    got = causal(
        digctl,
        "factors",
        runs,
        "--csv",
        path,
        "--metric",
        "*",
        "--factor",
        "per_agent = messages_per_agent / agents",
        "--factor",
        "stretch = rolling_max(waits, 3)",
        "--factor",
        "who = density()",
    )
    assert got.returncode == 0, got.stderr
    rows = list(csv.DictReader(path.open()))
    assert len(rows) == 300
    for name in (
        "run",
        "activations",
        "wait_ratio",
        "load_gini",
        "fired_orphaned_event",
        "injections",
        "label.model",
        "label.task",
        "per_agent",
        "stretch",
        "who",
        "metric.cost",
        "success",
    ):
        assert name in rows[0], name
    from_table = explained(digctl, "--csv", path, "--without", "metric.cost")
    assert from_table["levers"][0]["factor"] == "wait_ratio"
    assert explained(digctl, path, "--without", "metric.cost") == from_table
    assert (
        explained(digctl, path, "--cluster", "task")["levers"] == []
    )  # each run is its own cluster: nothing can be permuted


def test_the_built_in_factors_are_listed(digctl):
    names = [line.split("\t")[0] for line in causal(digctl, "factors", "--list").stdout.splitlines()]
    for name in (
        "activations",
        "events",
        "agents",
        "fan_out",
        "wait_ratio",
        "discard_ratio",
        "reroute_ratio",
        "lineage_depth",
        "lineage_width",
        "overlap",
        "load_gini",
        "time_to_first_consume_ms",
        "idle_ms",
        "failures",
        "firings",
        "injections",
        "healings_cleared",
        "messages_per_agent",
    ):
        assert name in names


def test_each_built_in_factor_is_a_column_or_counted_as_dropped(digctl, few, tmp_path):
    names = {line.split("\t")[0] for line in causal(digctl, "factors", "--list").stdout.splitlines()}
    got = causal(digctl, "factors", few, "--csv", tmp_path / "few.csv")
    assert got.returncode == 0, got.stderr
    rows = list(csv.DictReader((tmp_path / "few.csv").open()))
    columns = names & set(rows[0])
    assert columns and all(len({row[name] for row in rows}) > 1 for name in columns)
    dropped = len(names) - len(columns)
    assert dropped > 0
    assert f"{dropped} of {len(names)} built-in factors: dropped, because they never change" in got.stderr


def test_rates_and_prefix_windows_change_the_table(digctl, few):
    plain, rates, first, early = (
        next(csv.DictReader(io.StringIO(causal(digctl, "factors", few, *options).stdout)))
        for options in ([], ["--rates"], ["--first-messages", 20], ["--first-ms", 1500])
    )
    assert float(rates["events_per_activation"]) == pytest.approx(float(plain["events"]) / float(plain["activations"]))
    assert float(first["activations"]) < float(plain["activations"])
    assert float(early["duration_ms"]) <= 1500
    assert plain["success"] == first["success"] == early["success"]


def test_the_outcome_is_of_the_whole_run_and_its_parts_are_not_factors(digctl, runs):
    report = explained(digctl, runs, "--target", "failures", "--rates")
    assert any(n.startswith("left out, because they are parts or consequences of failures") for n in report["notes"])
    assert not {m["factor"] for m in report["boundary"]} & {
        "firings_per_activation",
        "fired_orphaned_event_per_activation",
    }
    # No activation has failed within five messages; the analysis still explains the failures of the whole runs.
    assert explained(digctl, runs, "--target", "failures", "--first-messages", 5)["outcome"] == "failures"
    early = next(csv.DictReader(io.StringIO(causal(digctl, "factors", runs, "--first-messages", 5).stdout)))
    assert "failures" not in early


def test_client_chosen_names_are_escaped_everywhere(digctl, tmp_path):
    team.write(tmp_path / "runs", 120, 1, "waits")
    for i, trace in enumerate(sorted((tmp_path / "runs").glob("*.jsonl"))):
        first, rest = trace.read_text().split("\n", 1)
        hello = json.loads(first)
        hello["labels"] = {EVIL: EVIL + str(i % 3)}
        trace.write_text(json.dumps(hello) + "\n" + rest)
    for format in ("text", "json", "svg", "dot"):
        got = causal(
            digctl, "explain", tmp_path / "runs", "--target", "label." + EVIL, "--format", format, "--permutations", 99
        )
        assert got.returncode == 0, got.stderr
        assert "\x1b" not in got.stdout and "\u202e" not in got.stdout, format
    assert "\x1b" not in causal(digctl, "explain", tmp_path / "runs", "--target", EVIL).stderr
    rows = list(csv.reader(io.StringIO(causal(digctl, "factors", tmp_path / "runs").stdout)))
    assert "label." + EVIL + ":discrete" in rows[0]
