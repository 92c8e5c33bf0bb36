"""Sends spans to a daemon, with OpenTelemetry's exporter or as raw requests, and reads the runs that they become."""

import http.client
import json
from pathlib import Path

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from live import TIMEOUT_S, wait_until

RECORDED = Path(__file__).parents[1] / "ingest/otlp/recorded"
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
