"""digctl report with the results of attribution, and the report of a long run."""

import json
import subprocess
from pathlib import Path

DEMO = Path(__file__).parents[2] / "traces/demo.jsonl"


def report(digctl, *args):
    done = digctl("report", *args, timeout=400)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_report_has_the_results_of_the_passes(digctl):
    document = json.loads(report(digctl, DEMO, "--format", "json", "--budget", "300"))
    shapley = document["passes"]["responsibility"]
    own = json.loads(digctl("attribute", "shapley", DEMO, "--format", "json", "--no-cache").stdout)
    assert shapley["ran"] and shapley["result"]["by_agent"] == own["by_agent"]
    assert own["adds_risk"] and "agent planner added most risk" in shapley["says"]
    assert document["passes"]["decisive-error"]["result"]["ranking"][0]["step"] == 11
    assert not document["passes"]["causes"]["ran"] and "digctl causal" in document["passes"]["causes"]["command"]
    assert len(document["verdict"]) == 3
    assert document["conclusion"]["kind"] == "healed" and "agent" not in document["conclusion"]
    assert not any(word in " ".join(document["verdict"]) for word in ("planner", "Most likely"))
    assert document == json.loads(report(digctl, DEMO, "--format", "json", "--budget", "300"))


def test_causes_over_many_runs_are_included_if_provided(digctl, tmp_path):
    table = tmp_path / "table.csv"
    rows = "".join(f"{i % 2},{i % 3},{(i % 2) ^ (i % 17 == 0)}\n" for i in range(120))
    table.write_text("careless,colour,success\n" + rows)
    causes = tmp_path / "causes.json"
    done = digctl("causal", "explain", "--csv", table, "--target", "success", "--format", "json", "-o", causes)
    assert done.returncode == 0, done.stderr
    document = json.loads(report(digctl, DEMO, "--format", "json", "--budget", "0", "--causes", causes))
    assert document["passes"]["causes"]["ran"] and document["passes"]["causes"]["result"]["runs"] == 120
    done = digctl("report", DEMO, "--budget", "0", "--causes", tmp_path / "none.json")
    assert done.returncode == 2 and "none.json" in done.stderr


def test_the_report_of_a_long_run_stays_small(tmp_path):
    script = Path(__file__).parents[3] / "scripts/measure-report"
    done = subprocess.run(
        [script, "--messages", "30000", "--json", "--most-seconds", "120"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    row = json.loads(done.stdout)
    assert row["messages"] == 30000 and row["bytes"] < 10_000_000
