"""Access control: tokens with rights and runs, TLS, Unix peers; and which parts of payloads are kept."""

import hashlib
import json
import os
import select
import signal
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from live import DIGCTL, TIMEOUT_S, Daemon, wait_until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

TRACE = Path(__file__).parents[1] / "traces/demo.jsonl"

TOKENS = {  # name: (token, rights, more)
    "all": ("a" * 64, ["ingest", "watch", "read", "operate"], ""),
    "fleet": ("f" * 64, ["ingest"], 'runs = ["prod-"]'),
    "watcher": ("w" * 64, ["watch", "read"], 'runs = ["prod-"]'),
    "slow": ("s" * 64, ["ingest"], "rate = 100"),
    "some": ("o" * 64, ["operate"], 'runs = ["prod-"]'),
}


def entry(name, token, rights, more=""):
    return (
        f'[[token]]\nname = "{name}"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n'
        f"rights = {json.dumps(rights)}\n{more}\n"
    )


def guarded(folder, config="", names=TOKENS):
    tokens = folder / "tokens.toml"
    tokens.write_text("".join(entry(n, *TOKENS[n]) for n in names))
    return Daemon(folder, f'tokens = "{tokens}"\n{config}')


def status_of(daemon, path, token=None, method="GET", body=None, header="Authorization", scheme="Bearer "):
    request = urllib.request.Request(f"http://{daemon.address}{path}", method=method, data=body)
    if token is not None:
        request.add_header(header, scheme + token)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def ingest(daemon, token=None, run=None, subprotocols=("digd.v1",), path="/v1/ingest", **more):
    headers = {"Authorization": "Bearer " + token} if token else {}
    scheme = "wss" if "ssl" in more else "ws"
    return connect(
        f"{scheme}://{daemon.address}{path}" + (f"?run={run}" if run else ""),
        subprotocols=list(subprotocols),
        additional_headers=headers,
        compression=None,
        open_timeout=TIMEOUT_S,
        close_timeout=TIMEOUT_S,
        **more,
    )


def hello(run, **more):
    return json.dumps({"type": "hello", "protocol": 1, "run": run, "clock": "trace", **more})


def send_and_wait(ws, *messages, until="ack", seq=None):
    """Sends messages; returns the first frame of that type, and of that seq or later."""
    for message in messages:
        ws.send(message if isinstance(message, str) else json.dumps(message))
    while True:
        frame = json.loads(ws.recv(TIMEOUT_S))
        if frame["type"] == until and (seq is None or frame["seq"] >= seq):
            return frame


def event(seq, id, **more):
    return {"type": "event", "seq": seq, "event": {"id": id, "recipients": ["a"], **more}}


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
        ("watcher", "/metrics", "GET", 200),
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
        wait_until(lambda: "reloaded" in daemon.log_text(), "the reload")
        assert send_and_wait(gone, event(2, "e2"), until="error")["code"] == "unauthorized"
        send_and_wait(kept, event(2, "e2"), seq=2)
        assert status_of(daemon, "/v1/runs", TOKENS["watcher"][0])[0] == 200
        assert status_of(daemon, "/v1/runs", TOKENS["fleet"][0])[0] == 401
        (tmp_path / "tokens.toml").write_text("[[token]]\nname = 3\n")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload_refused" in daemon.log_text(), "the refusal")
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
        wait_until(lambda: "reloaded" in daemon.log_text(), "the reload")
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


# ---- TLS


def certificate(folder, name, ca=None, usage="serverAuth"):
    """A certificate for localhost, self-signed or signed by `ca`; returns (certificate, key)."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={name}",
        "-keyout",
        key,
        "-out",
        cert,
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
    ]
    if ca:
        command += ["-CA", ca[0], "-CAkey", ca[1], "-addext", f"extendedKeyUsage={usage}"]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


class ThreadSafeSocket(ssl.SSLSocket):
    """A TLS socket that one thread may read while another writes; Python's own are unsafe for that before 3.13."""

    guard = threading.Lock()

    def recv(self, *args):
        while True:
            with self.guard:
                patience = self.gettimeout()
                self.settimeout(0)
                try:
                    return super().recv(*args)
                except ssl.SSLWantReadError:
                    pass
                finally:
                    self.settimeout(patience)
            if not select.select([self], [], [], patience)[0]:
                raise TimeoutError

    def send(self, *args):
        with self.guard:
            return super().send(*args)


def trusting(cert, own=None):
    context = ssl.create_default_context(cafile=str(cert))
    if own:
        context.load_cert_chain(*map(str, own))
    context.sslsocket_class = ThreadSafeSocket
    return context


def https(daemon, context, path="/healthz", token=None):
    request = urllib.request.Request(f"https://{daemon.address}{path}")
    if token:
        request.add_header("Authorization", "Bearer " + token)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:
        return answer.status, answer.read()


def test_ingest_feed_and_http_work_over_tls(tmp_path):
    cert, key = certificate(tmp_path, "one")
    tls = f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n'
    with guarded(tmp_path, tls) as daemon:
        assert https(daemon, trusting(cert))[0] == 200
        with ingest(daemon, TOKENS["all"][0], ssl=trusting(cert)) as ws:
            send_and_wait(ws, hello("r1"), *(event(n, f"e{n}", payload="x" * 10_000) for n in range(1, 501)), seq=500)
            with ingest(
                daemon, TOKENS["all"][0], path="/v1/feed?since=0", subprotocols=["digd.feed.v1"], ssl=trusting(cert)
            ) as feed:
                assert json.loads(feed.recv(TIMEOUT_S))["run"] == "r1"
        with pytest.raises(Exception):  # plain text at a TLS listener
            status_of(daemon, "/healthz")
        with pytest.raises(urllib.error.URLError):
            https(daemon, ssl.create_default_context())
        metrics = https(daemon, trusting(cert), "/metrics", TOKENS["all"][0])[1].decode()
        refused = [line for line in metrics.splitlines() if line.startswith("digd_tls_refused_total")]
        assert float(refused[0].split()[1]) >= 2


def test_digctl_connects_over_tls(tmp_path):
    cert, key = certificate(tmp_path, "one")
    token = tmp_path / "token"
    token.write_text(TOKENS["all"][0])

    def digctl(*args, ca=cert):
        return subprocess.run(
            [DIGCTL, *args, "--token-file", token, *(["--ca", ca] if ca else [])],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )

    with guarded(tmp_path, f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n') as daemon:
        to = f"wss://{daemon.address}"
        sent = digctl("send", str(TRACE), "--to", to)
        assert sent.returncode == 0, sent.stderr
        runs = digctl("runs", "--to", to, "--format", "jsonl")
        assert runs.returncode == 0 and len(runs.stdout.splitlines()) == 1
        assert "certificate" in digctl("runs", "--to", to, ca=None).stderr
        assert digctl("runs", "--to", to.replace("wss", "ws")).returncode == 2


def test_an_unfinished_handshake_delays_no_other_client(tmp_path):
    cert, key = certificate(tmp_path, "one")
    with guarded(tmp_path, f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n') as daemon:
        silent = [daemon.raw() for _ in range(20)]
        assert https(daemon, trusting(cert))[0] == 200
        for s in silent:
            s.close()


def test_an_unfinished_handshake_does_not_delay_the_stop(tmp_path):
    cert, key = certificate(tmp_path, "one")
    with guarded(tmp_path, f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n') as daemon:
        with daemon.raw() as silent, daemon.raw() as halfway:
            halfway.sendall(b"\x16\x03\x01")  # the first bytes of a handshake
            assert https(daemon, trusting(cert))[0] == 200  # the server accepted the other two before this one
            assert daemon.stop() == 0
            assert silent.recv(1) == b""
        assert "did not close in time" not in daemon.log_text()


def test_an_idle_keep_alive_connection_does_not_delay_the_stop(tmp_path):
    cert, key = certificate(tmp_path, "one")
    with guarded(tmp_path, f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n') as daemon:
        host, port = daemon.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), TIMEOUT_S) as plain:
            with trusting(cert).wrap_socket(plain, server_hostname="localhost") as idle:
                idle.sendall(f"GET /healthz HTTP/1.1\r\nHost: {daemon.address}\r\n\r\n".encode())
                assert b" 200 " in idle.recv(65536)
                assert daemon.stop() == 0
                assert "did not close in time" not in daemon.log_text()


def test_an_early_answer_arrives_over_tls(tmp_path):
    cert, key = certificate(tmp_path, "one")
    with guarded(tmp_path, f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n') as daemon:
        host, port = daemon.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), TIMEOUT_S) as plain:
            with trusting(cert).wrap_socket(plain, server_hostname="localhost") as s:
                s.sendall(f"PUT /v1/mode HTTP/1.1\r\nHost: {daemon.address}\r\nContent-Length: 100000\r\n\r\n".encode())
                for _ in range(50):
                    s.sendall(b"x" * 2000)
                assert b" 413 " in s.recv(65536)


def test_a_new_certificate_is_used_after_a_reload(tmp_path):
    cert, key = certificate(tmp_path, "one")
    with guarded(tmp_path, f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n') as daemon:
        with ingest(daemon, TOKENS["all"][0], ssl=trusting(cert)) as ws:
            send_and_wait(ws, hello("r1"), event(1, "e1"), seq=1)
            old = cert.read_bytes()
            certificate(tmp_path, "one")
            assert cert.read_bytes() != old
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "reloaded" in daemon.log_text(), "the reload")
            assert https(daemon, trusting(cert))[0] == 200
            send_and_wait(ws, event(2, "e2"), seq=2)
        cert.write_text("no certificate")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload_refused" in daemon.log_text(), "the refusal")


def test_client_certificates_are_required_if_configured(tmp_path):
    server, authority = certificate(tmp_path, "one"), certificate(tmp_path, "authority")
    mine = certificate(tmp_path, "mine", authority, "clientAuth")
    tls = f'[tls]\ncertificate = "{server[0]}"\nkey = "{server[1]}"\nclient_ca = "{authority[0]}"\n'
    with guarded(tmp_path, tls) as daemon:
        context, session = trusting(server[0], mine), None
        for _ in range(3):  # the second and third connection resume the first one's session
            host, port = daemon.address.rsplit(":", 1)
            with socket.create_connection((host, int(port)), TIMEOUT_S) as plain:
                with context.wrap_socket(plain, server_hostname="localhost", session=session) as s:
                    s.sendall(f"GET /healthz HTTP/1.1\r\nHost: {daemon.address}\r\nConnection: close\r\n\r\n".encode())
                    answer = s.recv(65536)
                    session = s.session
            assert b" 200 " in answer
        assert session.has_ticket
        with pytest.raises((urllib.error.URLError, OSError)):
            https(daemon, trusting(server[0]))
        with pytest.raises((urllib.error.URLError, OSError)):
            https(daemon, trusting(server[0], server))


# ---- which parts of payloads are kept


SECRET = "sk-0123456789abcdef"


def kept_after(tmp_path, config):
    """Returns all bytes on disk and the archived frames of a run with the secret in every possible place."""
    with Daemon(tmp_path, config) as daemon:
        with daemon.client(agents=["a"]) as c:
            c.event("e1", ["a"], event={"payload": {"text": f"my key is {SECRET}!", "n": [1, {"deep": SECRET}]}})
            c.start("v1", "a", ["e1"])
            c.end("v1", [{"id": "e2", "recipients": ["nobody"], "payload": SECRET}], {"e1": "consume"})
            c.verdicts()
            c.start("v2", "a", ["e2"])
            c.tell("activation_ended", activation="v2", failed=True, error=f"denied: {SECRET}")
            c.wait_acked()
        assert daemon.stop() == 0
        raw = b"".join(f.read_bytes() for f in daemon.data.iterdir() if f.is_file())
        frames = [
            json.loads(row[0])
            for row in sqlite3.connect(daemon.data / "digd.sqlite").execute("SELECT frame FROM messages ORDER BY entry")
        ]
        daemon.start()
        with daemon.client(agents=["a"]) as again:  # recovery reads the run back
            again.event("e9", ["a"])
            assert again.verdicts()
        return raw, frames


def test_payloads_are_kept_in_full_by_default(tmp_path):
    raw, frames = kept_after(tmp_path, "")
    assert SECRET.encode() in raw
    assert frames[2]["outputs"][0]["payload"] == SECRET


def test_secrets_are_redacted_before_they_are_stored(tmp_path):
    raw, frames = kept_after(tmp_path, '[payloads]\nredact = ["sk-[0-9a-f]+", "unused"]')
    assert SECRET.encode() not in raw
    assert frames[0]["event"]["payload"] == {"text": "my key is [redacted]!", "n": [1, {"deep": "[redacted]"}]}
    assert frames[2]["outputs"][0]["payload"] == "[redacted]"
    assert frames[4]["error"] == "denied: [redacted]"


def test_digest_mode_keeps_only_the_digest_of_a_payload(tmp_path):
    raw, frames = kept_after(tmp_path, '[payloads]\nkeep = "digest"\nredact = ["denied.*"]')
    assert SECRET.encode() not in raw
    payload = json.dumps(SECRET)
    assert frames[2]["outputs"][0]["payload"] == {
        "sha256": hashlib.sha256(payload.encode()).hexdigest(),
        "bytes": len(payload),
    }


def test_none_mode_keeps_no_payload(tmp_path):
    raw, frames = kept_after(tmp_path, '[payloads]\nkeep = "none"\nredact = ["denied.*"]')
    assert SECRET.encode() not in raw
    assert "payload" not in frames[0]["event"] and "payload" not in frames[2]["outputs"][0]


def test_refused_messages_are_redacted_like_others(tmp_path):
    with Daemon(tmp_path, f'[payloads]\nkeep = "none"\nredact = ["{SECRET}"]') as daemon:
        with daemon.client(agents=["a"]) as c:
            c.event("e1", ["a"])
            c.tell("activation_started", activation="v1", agent="a", inputs=7, payload={"text": SECRET})
            c.tell("activation_ended", activation="unknown", error=SECRET, payload=SECRET)
            c.event("e1", ["a"], event={"payload": SECRET})
            for code in ("bad_message", "unknown_activation", "duplicate_event"):
                assert c.error()["code"] == code
            c.wait_acked()
        assert daemon.stop() == 0
        assert SECRET.encode() not in b"".join(f.read_bytes() for f in daemon.data.iterdir() if f.is_file())
        daemon.start()
        with daemon.client(agents=["a"]) as again:
            assert again.welcome["acked_seq"] == 4


def test_an_invalid_redaction_pattern_is_refused(tmp_path):
    daemon = Daemon(tmp_path, '[payloads]\nredact = ["("]')
    done = subprocess.run([*daemon.command(), "--check-config"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and "payloads.redact" in done.stderr and "missing )" in done.stderr
