"""digctl import otlp: files of spans, as written by exporters and the collector."""

import gzip
import json
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[1] / "ingest/otlp/recorded/healthy"
NAMES = [
    "langgraph_fan_out_join",
    "openai_agents_handoff_and_tools",
    "autogen_round_robin",
    "agent_framework_agents_fan_out_join",
    "traceloop_plain_fan_out_join",
]


@pytest.mark.parametrize("name", NAMES)
def test_exports_of_frameworks_are_imported_replayed_and_shown(digctl, tmp_path, name):
    got = digctl("import", "otlp", RECORDED / f"{name}.json", "-o", tmp_path / "t.jsonl")
    assert got.returncode == 0 and "inferred" in got.stderr
    assert json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])["mode"] == "observe"
    replayed = digctl("replay", tmp_path / "t.jsonl", "--format", "jsonl")
    assert replayed.returncode == 0 and replayed.stdout == ""
    assert digctl("show", tmp_path / "t.jsonl").returncode == 0


def test_a_run_spread_over_compressed_and_line_files_is_one_run(digctl, tmp_path):
    document = json.loads((RECORDED / "langgraph_fan_out_join.json").read_text())
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]

    def part(some):
        scope = {**document["resourceSpans"][0]["scopeSpans"][0], "spans": some}
        return json.dumps({"resourceSpans": [{**document["resourceSpans"][0], "scopeSpans": [scope]}]})

    (tmp_path / "a.json.gz").write_bytes(gzip.compress(part(spans[1::2]).encode()))
    (tmp_path / "b.jsonl").write_text("".join(part([s]) + "\n" for s in spans[::2]))
    parts = digctl("import", "otlp", tmp_path / "a.json.gz", tmp_path / "b.jsonl")
    assert parts.stdout == digctl("import", "otlp", RECORDED / "langgraph_fan_out_join.json").stdout != ""


def test_several_runs_become_one_file_each_in_a_folder(digctl, tmp_path):
    files = [RECORDED / f"{name}.json" for name in NAMES]
    got = digctl("import", "otlp", *files)
    assert got.returncode == 2 and f"{len(NAMES)} runs" in got.stderr and "-o FOLDER" in got.stderr
    assert digctl("import", "otlp", *files, "-q", "-o", f"{tmp_path}/out/").returncode == 0
    runs = sorted(p.stem for p in (tmp_path / "out").iterdir())
    assert len(runs) == len(NAMES) and all(run.startswith("otlp-") for run in runs)
    assert digctl("import", "otlp", *files, "--run", "mine").returncode == 2
    assert digctl("import", "otlp", *files, "-q", "-o", f"{tmp_path}/new").returncode == 0
    assert sorted(p.stem for p in (tmp_path / "new").iterdir()) == runs
    (tmp_path / "file").write_text("old")
    refused = digctl("import", "otlp", *files, "-o", f"{tmp_path}/file")
    assert refused.returncode == 2 and "is not a folder" in refused.stderr
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("run", ["my run", "a/b", "ü", "", "x" * 257])
def test_a_run_id_that_would_change_is_refused(digctl, run):
    got = digctl("import", "otlp", RECORDED / "langgraph_fan_out_join.json", "--run", run)
    assert got.returncode == 2 and "letters, digits, dots, underscores and dashes" in got.stderr


def test_spans_that_are_not_valid_are_left_out_and_the_first_is_named(digctl, tmp_path):
    document = json.loads((RECORDED / "langgraph_fan_out_join.json").read_text())
    document["resourceSpans"][0]["scopeSpans"][0]["spans"][:0] = [{"traceId": "7"}, {"traceId": "8"}]
    (tmp_path / "some.json").write_text(json.dumps(document))
    got = digctl("import", "otlp", tmp_path / "some.json")
    assert got.returncode == 0, got.stderr
    assert "some.json: 2 spans are not valid; the first: resourceSpans[0].scopeSpans[0].spans[0]" in got.stderr
    assert got.stdout == digctl("import", "otlp", RECORDED / "langgraph_fan_out_join.json").stdout != ""


def test_a_problem_is_reported_with_its_file_and_position(digctl, tmp_path):
    (tmp_path / "bad.json").write_text('{"resourceSpans":[{"scopeSpans":7}]}')
    got = digctl("import", "otlp", tmp_path / "bad.json")
    assert got.returncode == 2
    assert "bad.json: resourceSpans[0].scopeSpans: expected an array, found a number" in got.stderr
    (tmp_path / "none.json").write_text("{}")
    assert "no spans" in digctl("import", "otlp", tmp_path / "none.json").stderr
    got = digctl("import", "otlp", RECORDED / "langgraph_fan_out_join.json", "--run", "mine")
    assert json.loads(got.stdout.splitlines()[0])["run"] == "mine"
