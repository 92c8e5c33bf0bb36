"""[otlp_export]: runs, detections and interventions as spans, at a receiver that reads protobuf."""

import contextlib
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from live import Daemon, wait_until
from otlp_spans import spans_of
from set_clock_test import DaemonWithSetClock
from webhook_receiver import Receiver, ask, dead, hook, orphan, orphans, state, stuck

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    """Receives OTLP requests; `answers` are the statuses of the first ones, then 200."""

    def __init__(self, *answers):
        self.spans, self.headers, self.paths, answers = [], [], [], list(answers)
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                status = answers.pop(0) if answers else 200
                if status == 200:
                    collector.headers.append(dict(self.headers))
                    collector.paths.append(self.path)
                    collector.spans.extend(spans_of(raw))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def wait_for(self, name, n=1):
        def named():
            return [s for s in list(self.spans) if s["name"].startswith(name)]

        return wait_until(lambda: len(named()) >= n and named(), f"{n} spans named {name}")


def export(collector, **options):
    fields = {"url": f"http://127.0.0.1:{collector.server.server_port}/v1/traces", **options}
    return "[otlp_export]\n" + "".join(f"{k} = {v if isinstance(v, int) else repr(v)}\n" for k, v in fields.items())


def end_run(daemon, run):
    with daemon.client(run=run, agents=["a"]) as c:
        c.tell("run_ended", outcome="success")


def wait_until_exported(daemon):
    wait_until(lambda: state(daemon, "otlp_export")["waiting"] == 0, "an empty queue")


def names_of(runs):
    """The names of the runs, in the order of their spans."""
    return [s["attributes"]["digd.run"] for s in runs]


def test_run_detection_and_intervention_are_spans_of_the_users_trace(tmp_path):
    with Collector() as at, Daemon(tmp_path, export(at, dashboard="https://digd.example.org")) as daemon:
        labels = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
        with daemon.client(agents=["a", "b"], witness=True, labels=labels) as c:
            sent = stuck(c)
            c.tell("run_ended", outcome="success")
            (run,) = at.wait_for("digd.run")
        (found,) = at.wait_for("digd.detection")
        (made,) = at.wait_for("digd.intervention")
    assert {s["trace"] for s in at.spans} == {TRACE}
    assert run["parent"] == SPAN and {found["parent"], made["parent"]} == {run["id"]}
    assert len({s["id"] for s in at.spans}) == 3
    assert found["name"] == "digd.detection deadlock" and found["attributes"]["digd.rule"] == "deadlock"
    assert found["attributes"]["digd.healed"] is True and found["attributes"]["digd.reason"]
    assert not found["is_error"]
    assert made["attributes"]["digd.intervention"] == sent["id"]
    assert [e["attributes"]["digd.rule"] for e in made["events"]] == ["deadlock"]
    assert run["attributes"]["digd.outcome"] == "success" and run["attributes"]["digd.detections"] == 1
    counts = {k: v for k, v in run["attributes"].items() if isinstance(v, int)}
    assert counts == {"digd.detections": 1, "digd.healed": 1, "digd.interventions": 1}
    assert [e["name"] for e in run["events"]] == ["digd.detection"]
    assert run["start_ns"] <= found["start_ns"] == found["end_ns"] <= run["end_ns"]
    for span in at.spans:
        assert span["resource"]["service.name"] == "digd"
        assert span["attributes"]["digd.run"] == "r1"
        assert span["attributes"]["digd.url"] == "https://digd.example.org/#/run/r1"
    assert {h["Content-Type"] for h in at.headers} == {"application/x-protobuf"} and set(at.paths) == {"/v1/traces"}


def test_an_unhealed_failure_is_an_error_in_a_trace_of_its_own(tmp_path):
    with Collector() as at, Daemon(tmp_path, export(at)) as daemon:
        with daemon.client(agents=["a"], mode="observe") as c:
            orphan(c)
            (found,) = at.wait_for("digd.detection")
            c.tell("run_ended", outcome="failure")
            (run,) = at.wait_for("digd.run")
    assert found["is_error"] and run["is_error"] and run["parent"] == ""
    assert found["trace"] == run["trace"] != "0" * 32 and found["parent"] == run["id"]


def test_headers_are_sent_and_shown_nowhere(tmp_path):
    headers = tmp_path / "headers"
    headers.write_text("Authorization: Bearer secret-of-the-collector\nX-Tenant: t1\n")
    with Collector() as at, Daemon(tmp_path, export(at, headers_file=str(headers))) as daemon:
        with daemon.client(agents=["a"]) as c:
            orphan(c)
            at.wait_for("digd.detection")
        assert at.headers[0]["Authorization"] == "Bearer secret-of-the-collector" and at.headers[0]["X-Tenant"] == "t1"
        shown = str(ask(daemon, "GET", "/v1/webhooks")) + str(ask(daemon, "GET", "/metrics")) + daemon.log_text()
        assert "otlp_export" in shown and "secret-of-the-collector" not in shown
    headers.write_text("Authorization Bearer secret-of-the-collector\n")
    with pytest.raises(AssertionError) as failed, Daemon(tmp_path / "other", export(at, headers_file=str(headers))):
        pass
    assert 'line 1 of its headers is not written "Name: value"' in str(failed.value).replace('\\"', '"')


def test_a_refused_span_is_retried_and_a_wrong_one_is_a_dead_letter(tmp_path):
    with Collector(503, 400) as at, Daemon(tmp_path, export(at)) as daemon:
        with daemon.client(agents=["a"]) as c:
            orphan(c, "first")
            wait_until(lambda: state(daemon, "otlp_export")["dead"] == 1, "a dead letter")
            counts = state(daemon, "otlp_export")
            assert counts["failed"] == 2 and counts["retried"] == 1 and counts["format"] == "otlp"
            assert "status 400" in counts["last_failure"] and not at.spans
            ask(daemon, "POST", "/v1/webhooks/otlp_export/retry")
            assert len(at.wait_for("digd.detection")) == 1


def test_an_end_is_exported_once_over_restarts(tmp_path):
    with Collector() as at:
        with Daemon(tmp_path, export(at)) as daemon:
            end_run(daemon, "r1")
            at.wait_for("digd.run")
            wait_until_exported(daemon)
        with Daemon(tmp_path, export(at)) as daemon:
            end_run(daemon, "r2")
            assert names_of(at.wait_for("digd.run", 2)) == ["r1", "r2"]


def test_an_end_is_exported_although_its_time_is_before_that_of_another(tmp_path):
    """An engine thread may write an end later than others, and the clock may be set back."""
    with Collector() as at:
        with Daemon(tmp_path, export(at)) as daemon:
            with daemon.client(run="r2", agents=["a"]) as late, daemon.client(run="r1", agents=["a"]) as c:
                late.event("e1", ["a"])
                late.wait_acked()
                c.tell("run_ended", outcome="success")
                at.wait_for("digd.run")
                wait_until_exported(daemon)
            daemon.stop()
        with contextlib.closing(sqlite3.connect(tmp_path / "data/digd.sqlite")) as db:
            db.execute(
                "UPDATE runs SET ended = 'success', ended_ms = (SELECT ended_ms FROM runs WHERE run = 'r1') - 1 "
                "WHERE run = 'r2'"
            )
            db.commit()
        with Daemon(tmp_path, export(at)):
            assert names_of(at.wait_for("digd.run", 2)) == ["r1", "r2"]


def test_ends_are_exported_although_the_clock_is_set_back(tmp_path):
    with Collector() as at:
        daemon = DaemonWithSetClock(tmp_path)
        daemon.config.write_text(export(at))
        with daemon:
            for i, set_back_s in enumerate((0, 3600, 7200)):
                with daemon.client(run=f"r{i}", agents=["a"]) as c:
                    c.event("e1", ["a"])
                    c.wait_acked()
                    daemon.steered.write_bytes(b"x" * set_back_s)
                    c.tell("run_ended", outcome="success")
                at.wait_for("digd.run", i + 1)
            wait_until_exported(daemon)
            daemon.kill()
            daemon.start()
            end_run(daemon, "r3")
            runs = at.wait_for("digd.run", 4)
        assert names_of(runs) == ["r0", "r1", "r2", "r3"]
        assert all(s["start_ns"] <= s["end_ns"] for s in runs)


def test_more_ends_than_may_wait_are_all_exported(tmp_path):
    """10,000 spans may wait. The other ends follow, although digd writes nothing more to the archive."""
    ends, hour_ms = 10_500, 3_600_000
    with Collector() as at:
        with Daemon(tmp_path, export(at)) as daemon:
            end_run(daemon, "first")
            at.wait_for("digd.run")
            wait_until_exported(daemon)
            daemon.stop()
    with contextlib.closing(sqlite3.connect(tmp_path / "data/digd.sqlite")) as db:
        db.execute(
            "WITH RECURSIVE i (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < ?1) "
            "INSERT INTO runs (run, opened_ms, ended, ended_ms) "
            "SELECT 'more' || i, r.opened_ms, 'success', r.ended_ms - ?2 FROM i, runs AS r WHERE r.run = 'first'",
            (ends, hour_ms),
        )
        db.commit()
    with Daemon(tmp_path, export(at)) as daemon:  # the collector has gone
        daemon.wait_logged('webhook_full name="otlp_export" waiting=10000')
        assert state(daemon, "otlp_export")["waiting"] == 10_000
    # The ends are older than `max_age_ms`, so they become dead letters without a post.
    with Daemon(tmp_path, export(at, max_age_ms=1000)) as daemon:
        wait_until(lambda: state(daemon, "otlp_export")["died"] == ends, "all ends", within=120)
        assert state(daemon, "otlp_export")["waiting"] == 0


def test_a_hanging_collector_delays_no_verdict(tmp_path):
    with Collector() as at, Daemon(tmp_path, export(at, timeout_ms=100, attempts=1000)) as daemon:
        at.server.shutdown()
        with daemon.client(agents=["a"]) as c:
            orphans(c, 20)
            c.wait_acked()
        assert state(daemon, "otlp_export")["waiting"] == 20


VERSION_1 = """
DROP TABLE awaited_runs;
DROP TABLE callbacks;
DROP TABLE webhooks;
CREATE TABLE webhooks (name TEXT PRIMARY KEY, detection INTEGER NOT NULL, intervention INTEGER NOT NULL) STRICT;
CREATE TABLE callbacks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, webhook TEXT NOT NULL REFERENCES webhooks (name) ON DELETE CASCADE,
  run INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('detection', 'intervention')), row INTEGER NOT NULL,
  rule TEXT NOT NULL, since_ms INTEGER NOT NULL, attempts INTEGER NOT NULL, died_ms INTEGER, why TEXT
) STRICT;
CREATE INDEX callbacks_by_webhook ON callbacks (webhook, died_ms IS NULL, id);
CREATE INDEX callbacks_by_run ON callbacks (run);
INSERT INTO webhooks VALUES ('pager', 1, 0);
INSERT INTO callbacks VALUES (7, 'pager', 1, 'detection', 1, 'orphaned_event', 1, 3, 2, 'status 500');
PRAGMA user_version = 1;
"""


def test_callbacks_of_a_former_webhooks_db_are_kept(tmp_path):
    with Receiver() as r:
        config = hook(tmp_path, r.url())
        with Daemon(tmp_path, config) as daemon:
            with daemon.client(agents=["a"]) as c:
                orphan(c)
                r.wait_for(1)
        with contextlib.closing(sqlite3.connect(tmp_path / "data/webhooks.db")) as db:
            db.executescript(VERSION_1)
        with Daemon(tmp_path, config) as daemon:
            assert [d["id"].rsplit("-", 2)[1:] for d in dead(daemon)["dead"]] == [["detection", "1"]]
            ask(daemon, "POST", "/v1/webhooks/pager/retry")
            assert r.wait_for(2)[1]["detection"]["rule"] == "orphaned_event"
