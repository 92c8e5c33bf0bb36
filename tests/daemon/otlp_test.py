"""POST /v1/traces: runs made of spans, sent by OpenTelemetry's exporter and as raw requests."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression

from live import TIMEOUT_S, Daemon, wait_until
from span_sender import (
    BASE,
    MS,
    PATIENT,
    QUICK,
    RECORDED,
    App,
    detections,
    get,
    metric,
    only_run,
    post,
    recorded_spans,
    run_of,
    team,
    trace_of,
    wait_for_end,
    wait_for_messages,
)

OTLP_JS = Path(__file__).parents[2] / "build/otlp-js"


def test_spans_of_several_agents_become_a_run_with_its_graph(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        run = team(App(daemon))
        facts = wait_for_end(daemon, run)
        assert facts["labels"] == {"source": "otlp", "dialect": "gen_ai 1.37", "service": "shop", "trace": run[5:]}
        graph = get(daemon, f"/v1/runs/{run}/graph")
        assert {a["agent"] for a in graph["activations"]} == {"planner", "coder", "searcher", "writer"}
        assert detections(daemon, run) == []
        messages = trace_of(daemon, run)
        assert messages[0]["mode"] == "observe"
        writer = next(m for m in messages if m["type"] == "activation_started" and m["agent"] == "writer")
        assert len(writer["inputs"]) == 2 and writer["inferred"] == ["inputs"]
        assert wait_until(lambda: metric(daemon, "digd_otlp_held_spans") == 0, "the spans to be released")
        assert metric(daemon, 'digd_otlp_spans_total{result="accepted"}') == 5


@pytest.mark.parametrize("packing", [Compression.Gzip, Compression.Deflate, Compression.NoCompression])
def test_every_compression_of_the_exporter_is_accepted(tmp_path, packing):
    with Daemon(tmp_path, QUICK) as daemon:
        wait_for_end(daemon, team(App(daemon, compression=packing)))


TRACED = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("app").start_as_current_span("invoke_agent solo", attributes={
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "solo"}):
    pass
provider.shutdown()
"""


def test_the_environment_alone_attaches_a_system(tmp_path):
    """The lines at the top of docs/otlp.md."""
    tokens = tmp_path / "tokens.toml"
    digest = hashlib.sha256(b"TOKEN").hexdigest()
    tokens.write_text(f'[[token]]\nname = "app"\nsha256 = "{digest}"\nrights = ["ingest", "read"]\nruns = ["otlp-"]\n')
    tokens.chmod(0o600)
    with Daemon(tmp_path, f'tokens = "{tokens}"\n' + QUICK) as daemon:
        subprocess.run(
            [sys.executable, "-c", TRACED],
            check=True,
            timeout=60,
            env={
                **os.environ,
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://{daemon.address}/v1/traces",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
                "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=Bearer%20TOKEN",
            },
        )
        wait_until(lambda: get(daemon, "/v1/runs", "TOKEN")["runs"], "the run")


@pytest.mark.parametrize("packing", ["gzip", "none"])
def test_the_javascript_exporter_makes_a_run(tmp_path, packing):
    assert (OTLP_JS / "node_modules").is_dir(), "scripts/test installs it: see otlp_js_environment in scripts/setup.sh"
    with Daemon(tmp_path, QUICK) as daemon:
        subprocess.run(
            ["node", OTLP_JS / "send.mjs", f"http://{daemon.address}/v1/traces", packing], check=True, timeout=60
        )
        run = only_run(daemon)
        wait_for_end(daemon, run)
        turns = [
            (m["agent"], [i.split(":")[0] for i in m["inputs"]])
            for m in trace_of(daemon, run)
            if m["type"] == "activation_started"
        ]
        assert turns == [("boss", ["in"]), ("clerk", ["ask"]), ("boss", ["ans"])]
        assert detections(daemon, run) == []


def test_the_error_of_a_called_agent_is_its_answer(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        app = App(daemon)
        boss = app.agent("boss", None, 0, None)
        app.agent("a", boss, 100 * MS, 200 * MS)
        app.agent("b", boss, 150 * MS, 300 * MS, failed="it broke")
        boss.end(BASE + 500 * MS)
        app.flush()
        wait_for_end(daemon, run_of(boss))
        assert outcome_of(daemon, run_of(boss)) == "success"
        assert detections(daemon, run_of(boss)) == []


def outcome_of(daemon, run):
    return trace_of(daemon, run)[-1]["outcome"]


def exported(daemon, folder):
    """Sends all recordings of a folder; returns {run: recording} once all runs have ended."""
    out = {}
    for path in sorted((RECORDED / folder).glob("*.json")):
        assert post(daemon, path.read_bytes())[0] == 200
        traces = {
            span["traceId"]
            for resource in json.loads(path.read_text())["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        }
        out |= {"otlp-" + trace: path.stem for trace in traces}
    wait_until(lambda: metric(daemon, "digd_otlp_held_runs") == 0, "all runs to end")
    return {run: out[run] for run in (row["run"] for row in get(daemon, "/v1/runs?limit=200")["runs"])}


def test_no_rule_fires_in_a_healthy_program(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        runs = exported(daemon, "healthy")
        assert len(runs) >= len(list((RECORDED / "healthy").glob("*.json")))
        for run, name in runs.items():
            assert detections(daemon, run) == [], name
            assert outcome_of(daemon, run) == "success", name


def test_a_rule_fires_in_a_broken_program(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        runs = exported(daemon, "broken")
        assert len(runs) == len(list((RECORDED / "broken").glob("*.json")))
        for run, name in runs.items():
            assert detections(daemon, run) != [], name
            assert outcome_of(daemon, run) == "failure", name


def messages_of(daemon, run):
    """The messages of a run that do not depend on when its spans arrived."""
    return [m for m in trace_of(daemon, run)[1:] if m["type"] != "time"]


@pytest.mark.parametrize(
    "name",
    [
        "langgraph_fan_out_join",
        "openai_agents_handoff_and_tools",
        "autogen_round_robin",
        "agent_framework_agents_fan_out_join",
        "traceloop_langgraph_fan_out_join",
        "traceloop_openai_agents_handoff_and_tools",
        "traceloop_plain_fan_out_join",
    ],
)
def test_the_order_of_spans_does_not_change_the_run(tmp_path, name):
    spans = recorded_spans(name)
    orders = [spans, spans[::-1], spans[::2] + spans[1::2] + spans[::3]]
    runs = [run_of_spans(tmp_path / str(i), order) for i, order in enumerate(orders)]
    assert runs[0] == runs[1] == runs[2]


def run_of_spans(folder, order):
    """Posts the spans one by one. If that took half as long as a run takes to settle, it tries again with more time."""
    for settle_ms in (3_000, 12_000, 48_000):
        settings = QUICK.replace("settle_ms = 50", f"settle_ms = {settle_ms}")
        with Daemon(folder / str(settle_ms), settings) as daemon:
            begun = time.monotonic()
            for span in order:
                assert post(daemon, span)[0] == 200
            if (time.monotonic() - begun) * 1000 > settle_ms / 2:
                continue
            run = wait_until(lambda: get(daemon, "/v1/runs")["runs"], "a run", settle_ms / 1000 + TIMEOUT_S)[0]["run"]
            wait_for_end(daemon, run)
            assert len(get(daemon, "/v1/runs")["runs"]) == 1
            return run, messages_of(daemon, run), detections(daemon, run)
    raise AssertionError("48 s were too short to post the spans")


def test_a_late_span_is_added_to_its_run(tmp_path):
    with Daemon(tmp_path, PATIENT) as daemon:
        app = App(daemon, batch=False)
        root = app.workflow()
        app.agent("a", root, 10 * MS, 100 * MS)
        app.agent("b", root, 200 * MS, 300 * MS)
        root.end(BASE + 500 * MS)
        run = run_of(root)
        wait_for_messages(daemon, run, 5)
        app.agent("c", root, 120 * MS, 180 * MS)
        late = wait_until(lambda: [m for m in trace_of(daemon, run) if m.get("agent") == "c"], "the late span")
        assert "ts" in late[0]["inferred"]
        assert metric(daemon, "digd_refusals_total") == 0
        assert metric(daemon, "digd_otlp_moved_total") > 0


def test_spans_of_a_run_that_has_ended_are_rejected_with_the_reason(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        spans = recorded_spans("openai_agents_handoff_and_tools")
        for span in spans:
            assert json.loads(post(daemon, span)[1]) == {}
        wait_for_end(daemon, only_run(daemon))
        wait_until(lambda: metric(daemon, 'digd_otlp_runs_total{what="ended"}') == 1, "the end")
        status, body, _ = post(daemon, spans[0])
        assert status == 200
        assert json.loads(body)["partialSuccess"]["rejectedSpans"] == "1"
        assert "have ended" in json.loads(body)["partialSuccess"]["errorMessage"]


def test_a_run_without_its_root_span_is_aborted(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        app = App(daemon)
        root = app.workflow()  # never ends, so it is never exported
        app.agent("a", root, 10 * MS, 100 * MS)
        app.agent("b", root, 200 * MS, 300 * MS)
        app.flush()
        wait_for_end(daemon, run_of(root))
        assert outcome_of(daemon, run_of(root)) == "aborted"
        assert detections(daemon, run_of(root)) == []
        outputs = [m for m in trace_of(daemon, run_of(root)) if m["type"] == "activation_ended"]
        assert outputs[-1]["outputs"][0]["fyi"] is True


def test_accepted_spans_survive_a_kill(tmp_path):
    with Daemon(tmp_path, PATIENT.replace("settle_ms = 50", "settle_ms = 3000")) as daemon:
        spans = recorded_spans("agent_framework_agents_fan_out_join")
        for span in spans:
            assert post(daemon, span)[0] == 200
        daemon.kill()
        daemon.config.write_text(QUICK)
        daemon.start()
        run = only_run(daemon)
        wait_for_end(daemon, run)
        assert {m["agent"] for m in trace_of(daemon, run) if m["type"] == "activation_started"} == {
            "writer",
            "critic",
            "checker",
            "join",
            "editor",
        }


def test_after_a_kill_no_message_is_sent_twice(tmp_path):
    with Daemon(tmp_path, PATIENT) as daemon:
        run = team(App(daemon))
        wait_for_messages(daemon, run, 9)
        daemon.kill()
        daemon.config.write_text(QUICK)
        daemon.start()
        wait_for_end(daemon, run)
        starts = [m["activation"] for m in trace_of(daemon, run) if m["type"] == "activation_started"]
        assert len(starts) == len(set(starts)) == 4
        wait_until(lambda: metric(daemon, "digd_otlp_held_spans") == 0, "the spans to be released")


def test_spans_without_agents_create_no_run(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        app = App(daemon)
        app.span("GET /", None, 0).end(BASE + MS)
        app.flush()
        wait_until(lambda: metric(daemon, 'digd_otlp_runs_total{what="no_agents"}') == 1, "the trace to be released")
        assert get(daemon, "/v1/runs")["runs"] == []
        wait_until(lambda: metric(daemon, "digd_otlp_held_bytes") == 0, "its bytes to be released")
