"""digctl causal: output for good input, refusal of bad input, and a planted cause found in digd's archive."""

import csv
import io
import json
import random
import xml.dom.minidom

import pytest
import rare_network
import team
from causal_calls import causal, explained
from live import Daemon

FACTOR = {"waits": "wait_ratio", "reroutes": "reroute_ratio", "discards": "discard_ratio"}


def table(rows, effect, seed=1):
    """A chain cause -> middle -> result among noise, as CSV."""
    chance = random.Random(seed)
    out = "cause,middle,noise,group,result\n"
    for i in range(rows):
        cause = chance.gauss(0, 1)
        middle = cause + chance.gauss(0, 1)
        out += f"{cause},{middle},{chance.gauss(0, 1)},g{i % 4},{effect * middle + chance.gauss(0, 1)}\n"
    return out


# ---- end to end


def test_the_planted_cause_is_found_in_three_hundred_archived_runs(digctl, runs, tmp_path):
    with Daemon(tmp_path / "d", "threads = 2\n") as daemon:
        for trace in sorted(runs.glob("*.jsonl")):
            sent = digctl("send", trace, "--to", daemon.address, "--format", "jsonl")
            assert sent.returncode == 0, sent.stderr
        live = explained(digctl, daemon.data)  # while digd is running
        assert daemon.stop() == 0
    archived = explained(digctl, daemon.data)
    assert archived == live
    assert archived["runs"] == 300 and archived["stage"] == "boundary" and archived["gate"]["open"]
    first = archived["levers"][0]
    assert first["factor"] == "wait_ratio" and first["evidence"] == "candidate" and first["in_boundary"]
    assert "To try: " in first["words"]
    # The archive and the traces give the same factors.
    tables = [sorted(csv.reader(io.StringIO(causal(digctl, "factors", where).stdout))) for where in (daemon.data, runs)]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("cause", ["reroutes", "discards"])
def test_the_planted_cause_ranks_first(digctl, tmp_path, cause):
    report = explained(digctl, team.write(tmp_path / "runs", 300, 1, cause))
    assert report["levers"][0]["factor"] == FACTOR[cause]
    edges = [(e["from"], e["to"]) for e in report["explanation"]["edges"]]
    assert (FACTOR[cause], "success") in edges


def test_runs_without_a_cause_have_no_lever(digctl, tmp_path):
    report = explained(digctl, team.write(tmp_path / "runs", 200, 1, "none"))
    assert not report["gate"]["open"] and report["levers"] == [] and report["boundary"] == []


# ---- explain


def test_text_is_readable_and_json_is_the_same_every_time(digctl, runs):
    text = causal(digctl, "explain", runs, "--permutations", 199)
    assert text.returncode == 0, text.stderr
    for part in (
        "Outcome success, 300 runs",
        "1. wait_ratio [candidate]",
        "Markov boundary",
        "wait_ratio -> success",
        "With fewer than 500",
    ):
        assert part in text.stdout
    once, again = (
        causal(digctl, "explain", runs, "--format", "json", "--permutations", 199, "--seed", 7).stdout for _ in range(2)
    )
    assert once == again


def test_the_explanation_is_drawn_as_svg_and_dot(digctl, runs, tmp_path):
    got = causal(digctl, "explain", runs, "--format", "svg", "-o", tmp_path / "why.svg", "--permutations", 199)
    assert got.returncode == 0, got.stderr
    svg = xml.dom.minidom.parse(str(tmp_path / "why.svg"))
    words = [t.firstChild.data for t in svg.getElementsByTagName("text")]
    assert "wait_ratio" in words and "success" in words
    dot = causal(digctl, "explain", runs, "--format", "dot", "--permutations", 199).stdout
    assert dot.startswith("digraph") and '[label="wait_ratio"' in dot


def test_the_stage_of_the_analysis_depends_on_the_number_of_runs(digctl, tmp_path):
    for rows, stage, status in [
        (29, "refused", 2),
        (60, "screening", 0),
        (150, "boundary", 0),
        (600, "orientation", 0),
    ]:
        path = tmp_path / f"{rows}.csv"
        path.write_text(table(rows, 2))
        got = causal(digctl, "explain", path, "--target", "result", "--format", "json", "--permutations", 199)
        assert got.returncode == status
        report = json.loads(got.stdout)
        assert report["stage"] == stage
        assert bool(report["levers"]) == (stage != "refused")
        assert all(lever["evidence"] == "screened" for lever in report["levers"]) == (stage in ("refused", "screening"))
        assert bool(report["boundary"]) == (stage in ("boundary", "orientation"))
    assert "no influence" in causal(digctl, "explain", tmp_path / "29.csv", "--target", "result").stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--learner", "iamb"],
        ["--learner", "hiton"],
        ["--learner", "add-prune"],
        ["--structure", "tabu"],
        ["--structure", "tabu", "--score", "bic", "--bootstrap", 20],
        ["--structure", "pc"],
        ["--structure", "pc", "--bootstrap", 20],
        ["--score", "bic"],
    ],
)
def test_every_learner_finds_the_boundary_of_a_chain(digctl, tmp_path, options):
    path = tmp_path / "t.csv"
    path.write_text(table(600, 1))
    report = explained(digctl, path, "--target", "result", "--outcome", "result", *options)
    assert [m["factor"] for m in report["boundary"]] == ["middle"]
    edge = [e for e in report["explanation"]["edges"] if (e["from"], e["to"]) == ("middle", "result")]
    assert edge and 0.9 <= edge[0]["support"] <= 1


def test_factors_downstream_of_the_outcome_are_listed_separately(digctl, tmp_path):
    chance = random.Random(3)
    lines = ["cause,result,after"]
    for _ in range(600):
        cause = chance.gauss(0, 1)
        result = cause + chance.gauss(0, 1)
        lines.append(f"{cause},{result},{result + chance.gauss(0, 1)}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    report = explained(digctl, tmp_path / "t.csv", "--target", "result", "--setting", "cause", "--outcome", "after")
    assert [l["factor"] for l in report["levers"]] == ["cause"]
    assert [m["factor"] for m in report["downstream"]] == ["after"]


def test_near_twins_are_merged_and_reported(digctl, tmp_path):
    rows = list(csv.reader(io.StringIO(table(200, 2))))
    rows = [rows[0] + ["twice"]] + [r + [str(2 * float(r[1]))] for r in rows[1:]]
    (tmp_path / "t.csv").write_text("".join(",".join(r) + "\n" for r in rows))
    report = explained(digctl, tmp_path / "t.csv", "--target", "result")
    assert [(t["kept"], t["dropped"]) for t in report["twins"]] == [("middle", "twice")]
    assert any("one factor here" in n for n in report["notes"])
    # Of two twins, the one that an experiment confirmed is kept.
    (tmp_path / "e.yaml").write_text("- {from: twice, to: result, result: confirmed, sign: '+', p: 0.001, pairs: 20}\n")
    report = explained(digctl, tmp_path / "t.csv", "--target", "result", "--experiments", tmp_path / "e.yaml")
    assert [(t["kept"], t["dropped"]) for t in report["twins"]] == [("twice", "middle")]
    assert report["levers"][0]["factor"] == "twice" and report["levers"][0]["evidence"] == "verified"


def test_a_difference_between_clusters_is_not_an_effect(digctl, tmp_path):
    chance = random.Random(5)
    lines = ["label.task,factor,outcome"]
    for i in range(240):
        lines.append(f"t{i % 8},{3 * (i % 8) + chance.gauss(0, 1)},{3 * (i % 8) + chance.gauss(0, 1)}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    args = (tmp_path / "t.csv", "--target", "outcome", "--without", "label.task")
    assert explained(digctl, *args)["levers"]
    for name in ("task", "label.task"):
        assert explained(digctl, *args, "--cluster", name)["levers"] == []


def test_repeatable_options_do_not_consume_the_paths(digctl, few):
    got = causal(
        digctl,
        "explain",
        "--without",
        "events",
        "--cluster",
        "model",
        "--factor",
        "hurry = 1 / (1 + mean(durations))",
        few,
    )
    assert got.returncode == 0, got.stderr
    assert "40 runs" in got.stdout


def test_unknown_columns_are_reported(digctl, few):
    for option in ("--without", "--setting", "--outcome"):
        assert f"{option}: there is no column nowhere" in causal(digctl, "explain", few, option, "nowhere").stdout


# ---- verify, worldviews


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """The same 60 tasks three times: unchanged, with the planted habit lowered, and unchanged again."""
    folder = tmp_path_factory.mktemp("experiment")
    return [
        team.write(folder / name, 60, seed, "waits", shift)
        for name, seed, shift in [("a", 5, 0.2), ("b", 5, -1.0), ("again", 6, 0.2)]
    ]


def test_an_experiment_confirms_the_cause_and_the_lever_is_verified(digctl, experiment, runs, tmp_path):
    a, b, _ = experiment
    found = tmp_path / "found.yaml"
    got = causal(digctl, "verify", "--do", "wait_ratio", a, b, "--experiments", found, "--format", "json")
    assert got.returncode == 0, got.stderr
    report = json.loads(got.stdout)
    assert report["result"] == "confirmed" and report["paired_by"] == "task" and report["outcome_test"]["pairs"] == 60
    assert report["outcome_test"]["sign_p"] < 0.05 and report["factor_test"]["wilcoxon_p"] < 0.05
    assert 'sign: "-"' in found.read_text()
    report = explained(digctl, runs, "--experiments", found)
    assert report["levers"][0]["factor"] == "wait_ratio" and report["levers"][0]["evidence"] == "verified"


def test_a_confirmed_lever_is_verified_even_with_few_runs(digctl, few, tmp_path):
    (tmp_path / "found.yaml").write_text(
        "- {from: wait_ratio, to: success, result: confirmed, sign: '-', p: 0.001, pairs: 20}\n"
    )
    args = (few, "--target", "success")
    assert [lever["evidence"] for lever in explained(digctl, *args)["levers"]] == ["screened"]
    report = explained(digctl, *args, "--experiments", tmp_path / "found.yaml")
    assert report["stage"] == "screening"
    assert [(lever["factor"], lever["evidence"]) for lever in report["levers"]] == [("wait_ratio", "verified")]


def test_an_experiment_that_changes_nothing_confirms_nothing(digctl, experiment):
    a, _, again = experiment
    got = causal(digctl, "verify", "--do", "wait_ratio", a, again)
    assert got.returncode == 0 and "Confirmed" not in got.stdout
    same = causal(digctl, "verify", "--do", "wait_ratio", a, a)
    assert "the experiment tested nothing" in same.stdout


def test_a_contradicted_worldview_yields_to_the_next(digctl, runs, tmp_path):
    (tmp_path / "view.yaml").write_text("""\
name: fan-out kills
variables:
  - {name: fan_out, scale: micro, root: true}
  - {name: stretch, scale: meso, expression: "rolling_max(waits, 5)"}
  - {name: success, scale: macro}
edges:
  - {from: fan_out, to: success, sign: "-"}
alternatives:
  - name: long waits kill
    edges: [{from: stretch, to: success, sign: "-"}, {from: success, to: fan_out}]
""")
    views = explained(digctl, runs, "--worldview", tmp_path / "view.yaml")["worldviews"]
    assert [(v["name"], v["chosen"]) for v in views] == [("fan-out kills", True), ("long waits kill", False)]
    (tmp_path / "found.yaml").write_text("- {from: fan_out, to: success, result: contradicted, p: 0.6, pairs: 80}\n")
    report = explained(digctl, runs, "--worldview", tmp_path / "view.yaml", "--experiments", tmp_path / "found.yaml")
    assert [v["chosen"] for v in report["worldviews"]] == [False, True]
    assert "found no effect" in report["worldviews"][0]["refuted"]
    edge = report["worldviews"][1]["edges"][0]
    assert (edge["from"], edge["from_scale"], edge["to"], edge["to_scale"]) == ("stretch", "meso", "success", "macro")
    assert edge["measured"]
    text = causal(digctl, "explain", runs, "--worldview", tmp_path / "view.yaml", "--permutations", 199).stdout
    assert "stretch (meso) -> success (macro): support" in text


# ---- eval


def test_boundaries_of_rare_factors_are_not_worse_than_those_of_iamb_and_pc(digctl, tmp_path):
    folder = rare_network.write(tmp_path / "rare")
    got = causal(digctl, "eval", folder, "--compare", "--format", "json")
    assert got.returncode == 0, got.stderr
    figures = {(f["figure"], f["rows"]): f for f in json.loads(got.stdout)["figures"]}
    for rows in rare_network.ROWS:
        for other in ("IAMB", "PC-stable"):
            assert figures[f"MB-F1 less {other}'s", rows]["high"] >= 0, (rows, other, figures)
        assert figures["MB-F1 less equal shares'", rows]["low"] > 0, (rows, figures)
        assert figures["SHD less equal shares'", rows]["high"] < 0, (rows, figures)
    assert "[" in causal(digctl, "eval", folder, "--compare").stdout


def test_eval_measures_a_folder_of_tables(digctl, tmp_path):
    chance = random.Random(2)
    (tmp_path / "chain.adj").write_text("0 1 0\n0 0 1\n0 0 0\n")
    rows = []
    for _ in range(500):
        a = chance.random() < 0.5
        b = chance.random() < (0.9 if a else 0.1)
        rows.append(f"{a:d} {b:d} {chance.random() < (0.9 if b else 0.1):d}\n")
    (tmp_path / "chain_500_0.txt").write_text("".join(rows))
    got = causal(digctl, "eval", tmp_path, "--compare")
    assert got.returncode == 0, got.stderr
    assert "mean MB-F1" in got.stdout and "IAMB" in got.stdout
    figures = json.loads(causal(digctl, "eval", tmp_path, "--format", "json").stdout)["figures"]
    by_name = {f["figure"]: f["value"] for f in figures}
    assert by_name["mean MB-F1"] == 1 and by_name["mean SHD"] == 0
    assert by_name["SHD, oracle instead of data"] == 0 and by_name["share that names a lever"] <= 0.1


# ---- bad input


@pytest.mark.parametrize(
    "args, reason",
    [
        (["explain"], "name archives, traces or folders"),
        (["explain", "NOWHERE"], "there is no such file or folder"),
        (["explain", "EMPTY"], "has no *.jsonl and no *.sqlite"),
        (["explain", "RUNS", "--target", "nothing"], "there is no column nothing"),
        (["explain", "RUNS", "--cluster", "nothing"], "no run has a label nothing"),
        (["explain", "RUNS", "--factor", "x = 1 +"], "at character"),
        (["explain", "RUNS", "--factor", "x"], "NAME = EXPRESSION"),
        (["explain", "RUNS", "--factor", "wait_ratio = 1"], "of that name already"),
        (["explain", "RUNS", "--factor", "x = events", "--factor", "x = agents"], "given twice"),
        (["explain", "RUNS", "--factors", "NOWHERE"], "there is no such file"),
        (["explain", "RUNS", "--learner", "magic"], "magic"),
        (["explain", "RUNS", "--permutations", "5"], "99"),
        (["explain", "RUNS", "--score", "bde"], "needs categories"),
        (["explain", "RUNS", "--worldview", "BAD"], "line 1"),
        (["explain", "RUNS", "--experiments", "BAD"], "line 1"),
        (["explain", "RUNS", "--csv", "CSV"], "either runs or --csv"),
        (["explain", "CSV"], "there is no column success"),
        (["explain", "CSV", "--rates"], "a table already"),
        (["explain", "RAGGED"], "row 3 has 1 cells"),
        (["explain", "TWICE"], "two columns are called a"),
        (["explain", "NOTADB"], "no run has ended"),
        (["factors"], "name archives"),
        (["factors", "RUNS", "--factor", "x = nothing"], "is not known"),
        (["verify", "RUNS", "RUNS"], "--do"),
        (["verify", "--do", "wait_ratio", "RUNS"], "A-B"),
        (["verify", "--do", "nothing", "RUNS", "RUNS"], "not known"),
        (["verify", "--do", "nothing", "--target", "events", "RUNS", "RUNS"], "not known"),
        (["verify", "--do", "wait_ratio", "--pair-by", "nothing", "RUNS", "RUNS"], "only 0 pairs"),
        (["eval", "NOWHERE"], "there is no such folder"),
        (["eval", "EMPTY"], "no NAME.adj"),
    ],
)
def test_bad_input_is_refused_with_the_reason(digctl, few, tmp_path, args, reason):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.yaml").write_text("{")
    (tmp_path / "t.csv").write_text(table(50, 1))
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n3,4\n")
    (tmp_path / "x.sqlite").write_text("not a database")
    paths = {
        "RUNS": few,
        "NOWHERE": tmp_path / "nowhere",
        "EMPTY": tmp_path / "empty",
        "BAD": tmp_path / "bad.yaml",
        "CSV": tmp_path / "t.csv",
        "RAGGED": tmp_path / "ragged.csv",
        "TWICE": tmp_path / "twice.csv",
        "NOTADB": tmp_path / "x.sqlite",
    }
    got = causal(digctl, *[paths.get(a, a) for a in args])
    assert got.returncode == 2, (got.stdout, got.stderr)
    assert reason in got.stderr, got.stderr
    assert got.stdout == ""
