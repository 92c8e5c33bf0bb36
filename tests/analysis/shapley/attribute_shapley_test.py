"""digctl attribute shapley: output for good input, refusal of bad input."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from live import Daemon

DIGCTL = os.environ.get("DIGCTL_BIN", "build/release/bin/digctl")
ROOT = Path(__file__).resolve().parents[3]
SIMULATOR = f"exec {sys.executable} {ROOT}/examples/shapley_simulator.py"

CLEAN = """\
{"type":"hello","protocol":1,"run":"clean","agents":["a"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["a"]}}
{"type":"activation_started","seq":2,"ts":10,"activation":"A1","agent":"a","inputs":["task"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"A1","outputs":[{"id":"answer","recipients":[],"submit":true}]}
"""

# An orphan and two events that nobody takes up: the run adds risk, most of it by a.
SPLIT = """\
{"type":"hello","protocol":1,"run":"hand","agents":["a","b"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["a"]}}
{"type":"activation_started","seq":2,"ts":10,"activation":"A1","agent":"a","inputs":["task"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"A1","outputs":[\
{"id":"x","recipients":["b"],"payload":{"text":"Do both."}},{"id":"y","recipients":["ghost"]}]}
{"type":"activation_started","seq":4,"ts":30,"activation":"B1","agent":"b","inputs":["x"]}
{"type":"activation_ended","seq":5,"ts":40,"activation":"B1","outputs":[\
{"id":"z1","recipients":["a"]},{"id":"z2","recipients":["a"]}]}
"""


def shapley(digctl, *args, **options):
    return digctl("attribute", "shapley", *args, **options)


def test_the_risk_of_a_trace_is_attributed_to_its_activations(digctl, trace, tmp_path):
    got = shapley(digctl, trace, "--format", "json", "--no-cache", "--faithfulness", "--plots", tmp_path / "plots")
    assert got.returncode == 0, got.stderr
    report = json.loads(got.stdout)
    assert report["game"] == "structure" and not report["synthetic"]
    assert [p["name"] for p in report["players"]] == ["v1", "v2"]
    assert abs(sum(p["phi"] for p in report["players"]) - report["total"]) < 1e-9
    assert "1 × failures" in report["weights"]
    for name in ("when.svg", "who.svg", "what.svg"):
        assert (tmp_path / "plots" / name).read_text().startswith("<svg")


def test_a_run_that_adds_no_risk_is_not_ranked(digctl, tmp_path):
    clean = tmp_path / "clean.jsonl"
    clean.write_text(CLEAN)
    got = shapley(digctl, clean, "--no-cache", "--faithfulness", "--plots", tmp_path / "plots")
    assert got.returncode == 0, got.stderr
    assert "nothing to attribute: the risk is 0 with every action kept and 0 with none" in got.stdout
    assert "T* =" not in got.stdout and "A1" not in got.stdout
    assert got.stdout.startswith("Nothing is known to have failed; nobody is blamed.\n")
    assert "no plots" in got.stderr and not (tmp_path / "plots").exists()
    report = json.loads(shapley(digctl, clean, "--no-cache", "--faithfulness", "--format", "json").stdout)
    assert report["adds_risk"] is False and report["metrics"]["T_star"] is None and "faithfulness" not in report


def test_the_answer_comes_first_and_has_evidence(digctl, tmp_path):
    split = tmp_path / "split.jsonl"
    split.write_text(SPLIT)
    text = shapley(digctl, split, "--no-cache").stdout
    first = text.splitlines()[0]
    expected = "Most likely a, activation A1: “Do both.”. Evidence: with a healthy counterpart in its place"
    assert first.startswith(expected)
    assert "Confidence: " in first and "Try: open its detections with digctl show." in first
    verdict = json.loads(shapley(digctl, split, "--no-cache", "--format", "json").stdout)["verdict"]
    assert (verdict["kind"], verdict["agent"], verdict["activation"]) == ("suspect", "a", "A1")
    assert verdict["words"] == first


def test_a_run_that_succeeded_and_was_healed_blames_nobody(digctl):
    demo = ROOT / "tests/traces/demo.jsonl"
    got = shapley(digctl, demo, "--no-cache")
    first = got.stdout.splitlines()[0]
    assert first.startswith("The run succeeded; nobody is blamed. digd healed 3 × cross lineage aggregation, ")
    assert "e-1" not in got.stdout, "the rounding of a sum is not a value"
    verdict = json.loads(shapley(digctl, demo, "--no-cache", "--format", "json").stdout)["verdict"]
    assert verdict["kind"] == "healed" and "agent" not in verdict


def test_an_archived_run_is_attributed_like_its_trace(digctl, trace, tmp_path):
    options = ("--format", "json", "--no-cache")
    from_file = shapley(digctl, trace, *options)
    with Daemon(tmp_path / "d", "threads = 2\n") as daemon:
        sent = digctl("send", trace, "--to", daemon.address, "--format", "jsonl")
        assert sent.returncode == 0, sent.stderr
        run = json.loads(digctl("runs", "--to", daemon.address, "--format", "jsonl").stdout.splitlines()[0])["run"]
        asked = shapley(digctl, run, "--to", daemon.address, *options)
        assert asked.returncode == 0, asked.stderr
        assert daemon.stop() == 0
    stored = shapley(digctl, run, "--data-dir", daemon.data, *options)
    assert json.loads(asked.stdout) == json.loads(stored.stdout) == json.loads(from_file.stdout)


def test_a_trajectory_is_marked_synthetic_and_cached(digctl, tmp_path):
    file = tmp_path / "t.json"
    assert shapley(digctl, "generate", "econagent", "--agents", 3, "--steps", 5, "-o", file).returncode == 0
    assert json.loads(file.read_text())["synthetic"] is True
    args = (file, "--cache", tmp_path / "cache", "-M", 50)
    first, second = shapley(digctl, *args), shapley(digctl, *args)
    assert first.returncode == 0, first.stderr
    assert "SYNTHETIC" in first.stdout
    assert second.stdout == first.stdout
    assert "from the cache" in second.stderr and "from the cache" not in first.stderr


def test_the_number_of_threads_changes_nothing(digctl, tmp_path):
    file = tmp_path / "t.json"
    shapley(digctl, "generate", "socialnetwork", "--agents", 6, "--steps", 8, "-o", file)
    outs = [shapley(digctl, file, "--format", "json", "--no-cache", "--estimator", e, "-M", 60, "--threads", n).stdout
            for e in ("permutation", "owen", "leverage") for n in (1, 3)]
    assert outs[0] == outs[1] and outs[2] == outs[3] and outs[4] == outs[5]
    assert len({outs[0], outs[2], outs[4]}) == 3


def test_an_external_simulator_provides_the_risks(digctl):
    got = shapley(digctl, "--simulator", SIMULATOR, "--format", "json", "-M", 40)
    assert got.returncode == 0, got.stderr
    report = json.loads(got.stdout)
    assert report["game"] == "external" and len(report["players"]) == 20
    assert max(report["by_behaviour"], key=lambda b: b["phi"])["behaviour"] == "careless"


def test_ctrl_c_keeps_the_samples_so_far(tmp_path):
    # The simulator prints `now` after ten requests; the test then sends the signal.
    simulator = tmp_path / "simulator.py"
    simulator.write_text(
        "import json,sys\n"
        "asked = 0\n"
        "for line in sys.stdin:\n"
        "    q = json.loads(line)\n"
        "    if q['type'] == 'hello':\n"
        "        print(json.dumps({'type':'game','players':[{'agent':str(k)} for k in range(30)]}), flush=True)\n"
        "        continue\n"
        "    asked += 1\n"
        "    if asked == 10:\n"
        "        print('now', file=sys.stderr, flush=True)\n"
        "    print(json.dumps({'type':'risks','id':q['id'],'risks':[len(s) for s in q['sets']]}), flush=True)\n")
    command = [DIGCTL, "attribute", "shapley", "--simulator", f"exec {sys.executable} {simulator}", "--estimator",
               "permutation", "-M", "10000000", "--format", "json", "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as run:
        assert run.stderr.readline() == "now\n"
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    report = json.loads(out)
    assert report["interrupted"] and 0 < report["samples"] < 10_000_000
    assert [round(p["phi"], 9) for p in report["players"]] == [1.0] * 30


def test_bad_input_is_refused_with_the_reason(digctl, trace, tmp_path):
    nowhere = tmp_path / "nowhere.jsonl"
    broken = tmp_path / "broken.json"
    broken.write_text('{"format":"digd.trajectory","version":1,"scenario":"econagent"}')
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    for args, reason in [
        ((), "name either a run, trace or trajectory file, or --simulator"),
        ((trace, "--simulator", SIMULATOR), "name either a run"),
        ((nowhere, "--data-dir", tmp_path), "there is no archive"),
        ((broken,), "agents: expected a whole number"),
        ((empty,), "the file is empty"),
        ((trace, "--estimator", "magic"), "magic"),
        ((trace, "-M", "0"), "0"),
        (("--simulator", "exec false"), "the simulator: it has ended"),
        (("generate", "casino"), "casino"),
        (("accuracy", nowhere), "there is no such file"),
    ]:
        got = shapley(digctl, *args)
        assert got.returncode == 2, args
        assert reason in got.stderr, (args, got.stderr)
        assert got.stdout == ""


def test_every_table_is_printed(digctl):
    for name, words in [("accuracy", "relative L2"), ("estimators", "leverage"), ("faithfulness", "leave-one-out"),
                       ("metrics", "G_ag")]:
        got = shapley(digctl, name, "--runs", 2, "-M", 20, "--reference", 50, "--sizes", "small", timeout=300)
        assert got.returncode == 0, got.stderr
        assert words in got.stdout and "socialnetwork 4×5" in got.stdout
