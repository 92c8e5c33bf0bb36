"""POST /v1/traces: runs made of spans, sent by OpenTelemetry's exporter and as raw requests."""

import gzip
import hashlib
import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from live import TIMEOUT_S, Daemon, wait_until

RECORDED = Path(__file__).parents[1] / "ingest/otlp/recorded"
OTLP_JS = Path(__file__).parents[2] / "build/otlp-js"
QUICK = "threads = 2\n[otlp]\nsettle_ms = 50\nwait_ms = 500\nlate_ms = 1000\n"
PATIENT = "threads = 2\n[otlp]\nsettle_ms = 50\nwait_ms = 60000\nlate_ms = 600000\n"


def post(daemon, body, type="application/json", headers=None):
    host, port = daemon.address.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
    try:
        c.request("POST", "/v1/traces", body, {"Content-Type": type, **(headers or {})})
        answer = c.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        c.close()


def get(daemon, path, token=None):
    host, port = daemon.address.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
    try:
        c.request("GET", path, headers={"Authorization": "Bearer " + token} if token else {})
        answer = c.getresponse()
        body = answer.read()
        return (
            json.loads(body)
            if answer.status == 200 and answer.getheader("Content-Type") == "application/json"
            else body.decode()
        )
    finally:
        c.close()


def metric(daemon, name):
    for line in get(daemon, "/metrics").splitlines():
        if line.startswith(name + " "):
            return float(line.rsplit(" ", 1)[1])
    return 0


def wait_for_end(daemon, run):
    """Waits until the run has ended; returns its facts."""

    def found():
        answer = get(daemon, "/v1/runs/" + run)
        return answer if isinstance(answer, dict) and answer["state"] == "ended" else None

    return wait_until(found, f"the end of {run}")


def wait_for_messages(daemon, run, messages):
    """Waits until the archive has this many messages of the run."""

    def found():
        answer = get(daemon, f"/v1/runs/{run}/trace")
        return not isinstance(answer, dict) and len(answer.splitlines()) > messages

    wait_until(found, f"{messages} messages of {run}")


def only_run(daemon):
    runs = wait_until(lambda: get(daemon, "/v1/runs")["runs"], "a run")
    assert len(runs) == 1
    return runs[0]["run"]


def detections_with_details(daemon, run):
    return [entry["detection"] for entry in get(daemon, f"/v1/runs/{run}/detections")["detections"]]


def detections(daemon, run):
    return [d["rule"] for d in detections_with_details(daemon, run)]


def trace_of(daemon, run):
    return [json.loads(line) for line in get(daemon, f"/v1/runs/{run}/trace").splitlines()]


class App:
    """A multi-agent system that is traced with OpenTelemetry's SDK and does not use digd's client."""

    def __init__(self, daemon, batch=True, **options):
        exporter = OTLPSpanExporter(endpoint=f"http://{daemon.address}/v1/traces", **options)
        self.provider = TracerProvider(resource=Resource({"service.name": "shop"}))
        self.provider.add_span_processor((BatchSpanProcessor if batch else SimpleSpanProcessor)(exporter))
        self.tracer = self.provider.get_tracer("shop")

    def span(self, name, parent=None, start=0, **attributes):
        context = set_span_in_context(parent) if parent else None
        return self.tracer.start_span(name, context=context, attributes=attributes, start_time=BASE + start)

    def agent(self, name, parent, start, end, failed=None):
        s = self.span(
            "invoke_agent " + name,
            parent,
            start,
            **{"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "x", "gen_ai.agent.name": name},
        )
        if failed:
            s.set_status(Status(StatusCode.ERROR, failed))
        if end is not None:
            s.end(BASE + end)
        return s

    def workflow(self):
        return self.span("run", None, 0, **{"gen_ai.operation.name": "invoke_workflow", "gen_ai.provider.name": "x"})

    def flush(self):
        assert self.provider.force_flush()


MS = 1_000_000
BASE = 1_700_000_000_000 * MS


def run_of(span):
    return f"otlp-{span.get_span_context().trace_id:032x}"


def team(app):
    """A planner, two concurrent agents, a writer."""
    root = app.workflow()
    app.agent("planner", root, 10 * MS, 100 * MS)
    app.agent("coder", root, 110 * MS, 300 * MS)
    app.agent("searcher", root, 120 * MS, 250 * MS)
    app.agent("writer", root, 310 * MS, 400 * MS)
    root.end(BASE + 500 * MS)
    app.flush()
    return run_of(root)


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


def recorded_spans(name):
    """Each span of a healthy recording, as a separate request."""
    out = []
    for resource in json.loads((RECORDED / "healthy" / f"{name}.json").read_text())["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                resource_spans = {
                    "resource": resource["resource"],
                    "scopeSpans": [{"scope": scope["scope"], "spans": [span]}],
                }
                out.append(json.dumps({"resourceSpans": [resource_spans]}))
    return out


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


# ---- refused requests


def status_message(body):
    """Parses google.rpc.Status: returns field 2, a string of less than 16 KiB."""
    at = 2  # after the code
    assert body[at] == 0x12
    return body[at + (2 if body[at + 1] < 128 else 3) :].decode()


def test_bad_requests_are_refused_with_the_problem_and_its_position(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        status, body, headers = post(daemon, b"\x0a\x05\x12\x09", "application/x-protobuf")
        assert (status, headers["Content-Type"]) == (400, "application/x-protobuf")
        assert "resource_spans[0]: its length is 5, which is more than there is" in status_message(body)
        status, body, headers = post(daemon, '{"resourceSpans":[{"scopeSpans":7}]}')
        assert (status, headers["Content-Type"]) == (400, "application/json")
        assert json.loads(body) == {
            "code": 3,
            "message": "resourceSpans[0].scopeSpans: expected an array, found a number",
        }
        assert post(daemon, b"x", headers={"Content-Encoding": "gzip"})[0] == 400
        assert post(daemon, b"{}", "text/plain")[0] == 415
        assert post(daemon, b"{}", headers={"Content-Encoding": "br"})[0] == 415
        assert post(daemon, b"", "application/x-protobuf")[:2] == (200, b"")
        assert post(daemon, b"{}", "application/json; charset=utf-8")[:2] == (200, b"{}")


def test_a_decompression_bomb_is_refused(tmp_path):
    config = QUICK + "body_bytes = 100000\nunpacked_bytes = 1000000\n"
    with Daemon(tmp_path, config) as daemon:
        bomb = gzip.compress(b" " * 50_000_000, 9)
        assert len(bomb) < 100_000
        status, body, _ = post(daemon, bomb, headers={"Content-Encoding": "gzip"})
        assert status == 413 and b"more than 1000000 bytes" in body
        status, body, _ = post(daemon, b" " * 100_001)
        assert status == 413 and b"100000 bytes" in body
        assert post(daemon, b'{"resourceSpans":' + b"[" * 5000)[0] == 400
        assert post(daemon, b"{}")[0] == 200


def test_invalid_spans_are_rejected_and_the_others_accepted(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        document = json.loads(recorded_spans("openai_agents_handoff_and_tools")[0])
        document["resourceSpans"][0]["scopeSpans"][0]["spans"].append({"name": "n"})
        status, body, _ = post(daemon, json.dumps(document))
        partial_success = json.loads(body)["partialSuccess"]
        assert status == 200 and partial_success["rejectedSpans"] == "1"
        assert "spans[1].traceId: expected 16 bytes" in partial_success["errorMessage"]
        pb = ExportTraceServiceResponse()
        span = b"\x0a\x02\x01\x02"
        inner = b"\x12" + bytes([len(span)]) + span
        body = b"\x12" + bytes([len(inner)]) + inner
        status, body, _ = post(daemon, b"\x0a" + bytes([len(body)]) + body, "application/x-protobuf")
        pb.ParseFromString(body)
        assert status == 200 and pb.partial_success.rejected_spans == 1


def test_the_exporter_needs_a_token_with_the_right_and_the_runs(tmp_path):
    digest = lambda t: hashlib.sha256(t.encode()).hexdigest()
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(
        "".join(
            f'[[token]]\nname = "{n}"\nsha256 = "{digest(n)}"\nrights = [{r}]\n{more}\n'
            for n, r, more in [
                ("writer", '"ingest"', ""),
                ("reader", '"read", "watch"', ""),
                ("other", '"ingest"', 'runs = ["prod-"]'),
                ("slow", '"ingest"', "rate = 1"),
            ]
        )
    )
    tokens.chmod(0o600)
    with Daemon(tmp_path, f'tokens = "{tokens}"\n' + QUICK) as daemon:
        assert post(daemon, b"{}")[0] == post(daemon, b" " * 100_000)[0] == 401
        send = lambda token, body=b"{}": post(daemon, body, headers={"Authorization": "Bearer " + token})
        assert send("reader")[0] == 403
        assert send("writer")[0] == 200
        status, body, _ = send("other", recorded_spans("openai_agents_handoff_and_tools")[0])
        assert status == 200 and "does not cover" in json.loads(body)["partialSuccess"]["errorMessage"]
        answers = [send("slow") for _ in range(4)]
        assert answers[-1][0] == 429 and int(answers[-1][2]["Retry-After"]) >= 1
        app = App(daemon, headers={"Authorization": "Bearer writer"})
        run = team(app)
        wait_until(lambda: any(r["run"] == run for r in get(daemon, "/v1/runs", "reader")["runs"]), "the run")


def test_a_full_span_table_ends_the_oldest_run_and_requests_a_retry(tmp_path):
    with Daemon(tmp_path, PATIENT + "spans = 100\nrun_spans = 100\n") as daemon:
        app = App(daemon, batch=False)
        root = app.workflow()
        for i in range(100):
            app.agent("a", root, i * MS, (i + 1) * MS)
        document = recorded_spans("openai_agents_handoff_and_tools")[0]
        status, _, headers = post(daemon, document)
        assert status == 503 and headers["Retry-After"] == "1"
        assert metric(daemon, 'digd_otlp_runs_total{what="ended_early"}') >= 1
        wait_until(lambda: post(daemon, document)[0] == 200, "room in the table")
        wait_for_end(daemon, run_of(root))


def test_a_run_of_spans_waits_while_the_run_limit_is_reached(tmp_path):
    with Daemon(tmp_path, "runs = 1\n" + QUICK) as daemon:
        with daemon.client(run="first") as client:
            run = team(App(daemon))
            wait_until(lambda: metric(daemon, 'digd_limits_hit_total{limit="runs"}') >= 1, "the refusal")
            client.tell("run_ended", outcome="success")
            client.wait_acked()
        wait_for_end(daemon, run)
        assert len([m for m in trace_of(daemon, run) if m["type"] == "activation_started"]) == 4


def test_spans_are_judged_without_an_archive(tmp_path):
    with Daemon(tmp_path, QUICK.replace("threads = 2", "threads = 2\narchive = false")) as daemon:
        team(App(daemon))
        wait_until(lambda: metric(daemon, 'digd_otlp_runs_total{what="ended"}') == 1, "the run's end")
        assert not (tmp_path / "data/otlp.db").exists()
