"""Access control: tokens with rights and runs, and Unix peers."""

import json
import os
import signal
import socket
import subprocess
import time

import pytest
from live import TIMEOUT_S, Daemon, wait_until
from token_access import TOKENS, entry, event, guarded, hello, ingest, send_and_wait, status_of
from websockets.exceptions import ConnectionClosed, InvalidStatus

# ---- tokens


@pytest.mark.parametrize(
    "path",
    [
        "/v1/runs",
        "/v1/runs/x",
        "/v1/runs/x/graph",
        "/v1/runs/x/report",
        "/v1/runs/x/trace",
        "/v1/mode",
        "/metrics",
        "/readyz",
        "/v1/ingest",
        "/v1/feed",
        "/v1/webhooks",
    ],
)
def test_every_path_but_health_requires_a_token(tmp_path, path):
    with guarded(tmp_path) as daemon:
        assert status_of(daemon, "/healthz")[0] == 200
        for token, scheme in (
            (None, ""),
            ("0" * 64, "Bearer "),
            ("", "Bearer "),
            (TOKENS["all"][0], "Basic "),
            (TOKENS["all"][0], ""),
        ):
            status, body = status_of(daemon, path, token, scheme=scheme)
            assert status == 401 and json.loads(body)["error"]["code"] == "unauthorized"
        assert status_of(daemon, path, TOKENS["all"][0])[0] not in (401, 403)
        assert status_of(daemon, path, TOKENS["all"][0], scheme="bEARER  ")[0] not in (401, 403)


@pytest.mark.parametrize(
    "name,path,method,expected",
    [
        ("fleet", "/v1/runs", "GET", 403),
        ("fleet", "/v1/feed", "GET", 403),
        ("fleet", "/metrics", "GET", 403),
        ("watcher", "/v1/ingest", "GET", 403),
        ("watcher", "/v1/runs", "GET", 200),
        ("watcher", "/metrics", "GET", 403),
        ("watcher", "/v1/runs/other", "GET", 403),
        ("watcher", "/v1/runs/prod-1", "GET", 404),
        ("watcher", "/v1/runs/prod-1/report?format=html", "GET", 404),
        ("watcher", "/v1/runs/other/report", "GET", 403),
        ("fleet", "/v1/runs/prod-1/report", "GET", 403),
        ("watcher", "/v1/runs/prod-1", "DELETE", 403),
        ("watcher", "/v1/feed?run=other", "GET", 403),
        ("watcher", "/v1/mode", "PUT", 403),
        ("some", "/v1/mode", "PUT", 403),
        ("some", "/v1/runs/prod-1", "DELETE", 404),
        ("some", "/v1/runs/other", "DELETE", 403),
        ("some", "/v1/runs/other/detections/1/judgement", "POST", 403),
        ("watcher", "/v1/runs/prod-1/detections/1/judgement", "POST", 403),
        ("watcher", "/v1/pilot", "GET", 200),
        ("fleet", "/v1/pilot", "GET", 403),
        ("all", "/v1/mode", "PUT", 200),
    ],
)
def test_a_token_grants_only_its_rights_and_runs(tmp_path, name, path, method, expected):
    with guarded(tmp_path) as daemon:
        body = b'{"mode":"observe"}' if method == "PUT" else None
        status, text = status_of(daemon, path, TOKENS[name][0], method, body)
        assert status == expected, text
        assert TOKENS[name][0] not in text and TOKENS[name][0] not in daemon.log_text()


def test_ingest_is_limited_to_the_runs_of_the_token(tmp_path):
    with guarded(tmp_path) as daemon:
        with pytest.raises(InvalidStatus) as refused:
            ingest(daemon)
        assert refused.value.response.status_code == 401
        with pytest.raises(InvalidStatus) as refused:
            ingest(daemon, TOKENS["fleet"][0], run="test-1")
        assert refused.value.response.status_code == 403
        with ingest(daemon, TOKENS["fleet"][0], run="prod-1") as ws:
            assert send_and_wait(ws, hello("prod-1"), until="welcome")["run"] == "prod-1"
        with ingest(daemon, TOKENS["fleet"][0]) as ws:  # the hello names the run
            error = send_and_wait(ws, hello("test-1"), until="error")
            assert (error["code"], error["fatal"]) == ("unauthorized", True)
            with pytest.raises(ConnectionClosed):
                ws.recv(TIMEOUT_S)
            assert ws.close_code == 4400


def test_lists_and_feed_show_only_the_runs_of_the_token(tmp_path):
    with guarded(tmp_path) as daemon:
        with ingest(daemon, TOKENS["watcher"][0], path="/v1/feed", subprotocols=["digd.feed.v1"]) as feed:
            for run in ("prod-1", "secret-1", "prod-2"):
                with ingest(daemon, TOKENS["all"][0]) as ws:
                    send_and_wait(ws, hello(run), event(1, "e1"), seq=1)
            seen = [json.loads(feed.recv(TIMEOUT_S))["run"] for _ in range(4)]  # message, verdicts
            assert seen == ["prod-1", "prod-1", "prod-2", "prod-2"]
        listed = json.loads(status_of(daemon, "/v1/runs", TOKENS["watcher"][0])[1])["runs"]
        assert [row["run"] for row in listed] == ["prod-2", "prod-1"]
        assert len(json.loads(status_of(daemon, "/v1/runs", TOKENS["all"][0])[1])["runs"]) == 3


def test_a_browser_offers_its_token_as_a_subprotocol(tmp_path):
    with guarded(tmp_path) as daemon:
        with ingest(daemon, path="/v1/feed", subprotocols=["digd.feed.v1", "bearer." + TOKENS["watcher"][0]]) as feed:
            assert feed.subprotocol == "digd.feed.v1"
        with pytest.raises(InvalidStatus) as refused:
            ingest(daemon, path="/v1/feed", subprotocols=["digd.feed.v1", "bearer." + "0" * 64])
        assert refused.value.response.status_code == 401


def test_a_reload_adds_and_revokes_tokens(tmp_path):
    with guarded(tmp_path, names=["all", "fleet"]) as daemon:
        kept = ingest(daemon, TOKENS["all"][0])
        send_and_wait(kept, hello("r1"), event(1, "e1"), seq=1)
        gone = ingest(daemon, TOKENS["fleet"][0])
        send_and_wait(gone, hello("prod-1"), event(1, "e1"), seq=1)
        (tmp_path / "tokens.toml").write_text(entry("all", *TOKENS["all"]) + entry("watcher", *TOKENS["watcher"]))
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_logged("reloaded")
        assert send_and_wait(gone, event(2, "e2"), until="error")["code"] == "unauthorized"
        send_and_wait(kept, event(2, "e2"), seq=2)
        assert status_of(daemon, "/v1/runs", TOKENS["watcher"][0])[0] == 200
        assert status_of(daemon, "/v1/runs", TOKENS["fleet"][0])[0] == 401
        (tmp_path / "tokens.toml").write_text("[[token]]\nname = 3\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_logged("reload_refused")
        assert status_of(daemon, "/v1/runs", TOKENS["watcher"][0])[0] == 200
        for ws in (kept, gone):
            ws.close()


def test_a_revoked_session_gets_nothing_more_of_its_run(tmp_path):
    with guarded(tmp_path, "[limits]\nreorder_ms = 60000\n", names=["all", "fleet"]) as daemon:
        wall = {"clock": "wall"}
        kept, gone = (ingest(daemon, TOKENS[name][0]) for name in ("all", "fleet"))
        send_and_wait(kept, hello("prod-1", session="kept", **wall), until="welcome")
        send_and_wait(gone, hello("prod-1", session="gone", **wall), until="welcome")
        held = {"type": "activation_started", "seq": 1, "activation": "v1", "agent": "a", "inputs": ["e1"]}
        gone.send(json.dumps(held))  # digd holds it, because another session may bring e1
        wait_until(lambda: metric_of(daemon, "digd_held_messages_total") > 0, "the message to be held")
        (tmp_path / "tokens.toml").write_text(entry("all", *TOKENS["all"]))
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_logged("reloaded")
        send_and_wait(kept, event(1, "e1"), seq=1)  # releases it
        first = json.loads(gone.recv(TIMEOUT_S))
        assert (first["type"], first["code"]) == ("error", "unauthorized")
        with pytest.raises(ConnectionClosed):
            gone.recv(TIMEOUT_S)
        kept.close()


def metric_of(daemon, name):
    lines = status_of(daemon, "/metrics", TOKENS["all"][0])[1].splitlines()
    return float(next(line for line in lines if line.startswith(name + " ")).split()[1])


def test_a_fast_sender_is_slowed_down_and_loses_nothing(tmp_path):
    with guarded(tmp_path) as daemon:
        with ingest(daemon, TOKENS["slow"][0]) as ws:
            begun = time.monotonic()
            send_and_wait(ws, hello("r1"), *(event(n, f"e{n}") for n in range(1, 251)), seq=250)
            assert time.monotonic() - begun > 1.0  # 250 messages at 100 a second, with a burst of 100
        metrics = status_of(daemon, "/metrics", TOKENS["all"][0])[1]
        paused = [line for line in metrics.splitlines() if line.startswith("digd_rate_paused_total")]
        assert float(paused[0].split()[1]) > 0


@pytest.mark.parametrize(
    "text,words",
    [
        ("", "at least one"),
        ("[token]\n", "at least one"),
        ("[[token]\n", "tokens.toml:1:"),
        ('[[token]]\nname = "a"\nsha256 = "12"\nrights = ["read"]\n', "64 hex digits"),
        (entry("a", "t", ["fly"]), 'unknown right "fly"'),
        (entry("a", "t", []), "at least one of"),
        (entry("a", "t", ["read"], "runs = []"), "omit it to allow all runs"),
        (entry("a", "t", ["read"], "rates = 1"), 'there is no "rates"'),
        (entry("a", "t", ["read"], "rate = 0"), "from 1 to"),
        (entry("a", "t", ["read"]) + entry("a", "u", ["read"]), "duplicate token name"),
        (entry("a", "t", ["read"]) + entry("b", "t", ["read"]), "duplicate sha256"),
    ],
)
def test_a_bad_tokens_file_is_refused_with_its_position(tmp_path, text, words):
    daemon = guarded(tmp_path)
    (tmp_path / "tokens.toml").write_text(text)
    done = subprocess.run([*daemon.command(), "--check-config"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2
    assert words in done.stderr and "tokens.toml" in done.stderr


def test_without_tokens_it_listens_only_on_this_machine(tmp_path):
    daemon = Daemon(tmp_path, listen="0.0.0.0:0")
    done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and "no tokens are configured" in done.stderr


# The requests that need each right (docs/security.md).
REQUESTS = {
    "ingest": """
        GET /v1/ingest
        POST /v1/traces
        POST /v1/hooks/claude-code
        POST /v1/guardrail/beta/litellm_basic_guardrail_api
    """,
    "watch": "GET /v1/feed",
    "read": """
        GET /readyz
        GET /metrics
        GET /v1/fleet
        GET /v1/fleet/runs
        GET /v1/mode
        GET /v1/holds
        GET /v1/pilot
        GET /v1/runs
        GET /v1/runs/r
        GET /v1/runs/r/attribution
        GET /v1/runs/r/detections
        GET /v1/runs/r/entries/1
        GET /v1/runs/r/graph
        GET /v1/runs/r/holds
        GET /v1/runs/r/trace
        GET /v1/runs/r/report
        GET /v1/runs/r/usage
        GET /v1/search?q=x
        GET /v1/webhooks
        GET /v1/webhooks/w/dead
        POST /mcp
    """,
    "operate": """
        PUT /v1/mode
        DELETE /v1/runs/r
        POST /v1/runs/r/attribution
        POST /v1/runs/r/detections/1/judgement
        POST /v1/runs/r/holds/hold:1
        POST /v1/webhooks/w/retry
    """,
}


def test_each_request_needs_exactly_its_right(tmp_path):
    rights = list(REQUESTS)
    tokens = {name: (name[0] * 64, [name], "") for name in rights}
    file = tmp_path / "tokens.toml"
    file.write_text("".join(entry(name, *token) for name, token in tokens.items()))
    with Daemon(tmp_path, f'tokens = "{file}"\n') as daemon:
        for needed, requests in REQUESTS.items():
            for request in requests.strip().splitlines():
                method, path = request.split()
                body = b"{}" if method in ("POST", "PUT") else None
                refused = {r for r in rights if status_of(daemon, path, tokens[r][0], method, body)[0] == 403}
                assert refused == set(rights) - {needed}, (method, path)


# ---- Unix sockets


def test_a_unix_socket_admits_only_the_configured_users(tmp_path):
    where = f"/tmp/digd-peer-{os.getpid()}.sock"
    script = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({where!r}); "
        "s.sendall(b'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n'); "
        "print(s.recv(100)[:15])"
    )

    def as_user(number):
        return subprocess.run(
            ["/usr/bin/python3", "-c", script], user=number, capture_output=True, text=True, timeout=TIMEOUT_S
        )

    daemon = Daemon(tmp_path, 'unix_users = ["65533"]', listen="unix:" + where)
    with daemon:
        strangers = 0
        if os.geteuid() == 0:  # only root can act as another user
            assert "200" in as_user(65533).stdout
            assert "200" not in as_user(65532).stdout
            strangers = 1
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(where)
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            text = b""
            while chunk := s.recv(65536):
                text += chunk
        assert f"digd_strangers_refused_total {strangers}".encode() in text
    daemon.config.write_text('unix_users = ["no such user"]')
    done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode != 0 and "no user" in done.stderr
