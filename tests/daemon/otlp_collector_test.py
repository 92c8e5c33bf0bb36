"""[otlp_export] through a real OpenTelemetry collector, which passes what it accepted to a receiver of the test.

The collector is a program of 40 MB that Go builds, so CI does not run this. scripts/test-collector builds it and names
it in OTELCOL_BIN; scripts/check-release calls that.
"""

import os
import socket
import subprocess

import pytest

from live import Daemon, wait_until
from otlp_export_test import SPAN, TRACE, Collector, export
from webhook_receiver import ask, state, stuck

OTELCOL = os.environ.get("OTELCOL_BIN")

pytestmark = pytest.mark.skipif(
    not OTELCOL, reason="NOT TRIED: the export to a real OpenTelemetry collector. Run scripts/test-collector"
)

# No compression: the receiver of the test reads plain protobuf.
CONFIG = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters: {{otlp_http: {{endpoint: "http://127.0.0.1:{to}", compression: none, sending_queue: {{batch: {{}}}}}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [otlp_http]}}}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Forwarder:
    """A running collector between digd and `receiver`."""

    def __init__(self, folder, receiver):
        self.port, self.log = free_port(), folder / "collector.log"
        config = folder / "collector.yaml"
        config.write_text(CONFIG.format(port=self.port, to=receiver.server.server_port))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([OTELCOL, "--config", str(config)], stdout=log, stderr=log)

    def __enter__(self):
        def ready():
            assert self.process.poll() is None, self.log.read_text()
            return "Everything is ready" in self.log.read_text()

        wait_until(ready, "the collector")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


def test_a_healed_run_passes_the_collector_in_the_users_trace(tmp_path):
    with Collector() as at, Forwarder(tmp_path, at) as forwarder:
        config = export(at, url=f"http://127.0.0.1:{forwarder.port}/v1/traces", dashboard="https://digd.example.org")
        with Daemon(tmp_path / "d", config) as daemon:
            labels = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
            with daemon.client(agents=["a", "b"], witness=True, labels=labels) as c:
                sent = stuck(c)
                c.tell("run_ended", outcome="success")
                (run,) = at.wait_for("digd.run")
                (found,) = at.wait_for("digd.detection")
                (made,) = at.wait_for("digd.intervention")
            wait_until(lambda: state(daemon, "otlp_export")["waiting"] == 0, "an empty queue")
            counts = state(daemon, "otlp_export")
            assert counts["dead"] == counts["failed"] == 0, (counts, forwarder.log.read_text())
            assert ask(daemon, "GET", "/v1/webhooks")
    assert {s["trace"] for s in at.spans} == {TRACE}
    assert run["parent"] == SPAN and {found["parent"], made["parent"]} == {run["id"]}
    assert run["attributes"]["digd.outcome"] == "success" and run["attributes"]["digd.healed"] == 1
    assert not run["is_error"]
    assert [(e["name"], e["attributes"]["digd.rule"]) for e in run["events"]] == [("digd.detection", "deadlock")]
    assert [e["attributes"]["digd.rule"] for e in made["events"]] == ["deadlock"]
    assert found["attributes"]["digd.rule"] == "deadlock" and found["attributes"]["digd.healed"] is True
    assert made["attributes"]["digd.intervention"] == sent["id"]
    assert {s["resource"]["service.name"] for s in at.spans} == {"digd"}
    assert {s["attributes"]["digd.url"] for s in at.spans} == {"https://digd.example.org/#/run/r1"}
