"""POST /v1/traces: what digd refuses, and what it does with spans beyond a limit or without an archive."""

import gzip
import hashlib
import json

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from live import Daemon, wait_until
from span_sender import (
    MS,
    PATIENT,
    QUICK,
    App,
    get,
    metric,
    post,
    recorded_spans,
    run_of,
    team,
    trace_of,
    wait_for_end,
    wait_for_messages,
)


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


def test_a_body_over_its_limit_is_refused_with_the_name_of_the_limit_and_counted(tmp_path):
    with Daemon(tmp_path, QUICK + "body_bytes = 100000\n") as daemon:
        status, body, headers = post(daemon, b" " * 100_001)
        assert (status, headers["Content-Type"]) == (413, "application/json")
        assert json.loads(body) == {"code": 8, "message": "the body is over 100000 bytes (otlp.body_bytes)"}
        status, body, headers = post(daemon, b" " * 100_001, "application/x-protobuf")
        assert (status, headers["Content-Type"]) == (413, "application/x-protobuf")
        assert "otlp.body_bytes" in status_message(body)
        status, body, _ = post(daemon, iter([b" " * 60_000] * 3))  # chunked
        assert status == 413 and b"otlp.body_bytes" in body
        for name in ("busy", "refused", "requests"):
            assert metric(daemon, f"digd_otlp_{name}_total") == 3, name
        assert post(daemon, b"{}")[0] == 200
        assert post(daemon, b"{}", "text/plain")[0] == 415
        assert metric(daemon, "digd_otlp_requests_total") == 5
        assert metric(daemon, "digd_otlp_refused_total") == 4


def test_a_request_that_could_never_be_kept_is_refused_permanently(tmp_path):
    with Daemon(tmp_path, PATIENT + "held_bytes = 1048576\n") as daemon:
        run = team(App(daemon))
        wait_for_messages(daemon, run, 9)
        document = json.loads(recorded_spans("openai_agents_handoff_and_tools")[0])
        spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
        spans[:] = [spans[0] | {"spanId": f"{n:016x}", "name": "n" * 1000} for n in range(1, 2000)]
        status, body, _ = post(daemon, json.dumps(document))
        assert status == 413 and b"otlp.held_bytes" in body
        assert metric(daemon, 'digd_otlp_runs_total{what="ended_early"}') == 0  # no other run made room for it
        assert get(daemon, f"/v1/runs/{run}")["state"] == "open"


def linked_span(count):
    """A span of an agent with links to as many traces."""
    document = json.loads(recorded_spans("openai_agents_handoff_and_tools")[0])
    (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    span["attributes"] = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span["links"] = [{"traceId": f"{n:032x}", "spanId": f"{n:016x}"} for n in range(1, count + 1)]
    return document


def test_links_beyond_the_limit_are_dropped_counted_and_reported(tmp_path):
    with Daemon(tmp_path, PATIENT) as daemon:
        body = gzip.compress(json.dumps(linked_span(139_000)).encode())
        status, body, _ = post(daemon, body, headers={"Content-Encoding": "gzip"})
        answer = json.loads(body)["partialSuccess"]
        assert status == 200 and answer["rejectedSpans"] == "0"
        assert answer["errorMessage"].startswith("138872 links of accepted spans dropped")
        assert metric(daemon, "digd_otlp_dropped_links_total") == 138_872
        document = linked_span(100)
        (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
        spans = [span | {"spanId": f"{n:016x}"} for n in range(1, 103)]
        document["resourceSpans"][0]["scopeSpans"][0]["spans"] = spans
        answer = json.loads(post(daemon, json.dumps(document))[1])["partialSuccess"]
        assert answer["errorMessage"].startswith("200 links of accepted spans dropped")


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


def test_a_half_sent_body_times_out_and_frees_its_place(tmp_path):
    with Daemon(tmp_path) as daemon, daemon.raw() as s:
        s.sendall(
            f"POST /v1/traces HTTP/1.1\r\nHost: {daemon.address}\r\nContent-Type: application/json\r\n"
            'Content-Length: 1000\r\n\r\n{"resourceSpans":'.encode()
        )
        assert s.recv(100) == b""  # within 10 s
