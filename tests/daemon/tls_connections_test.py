"""TLS: certificates of the daemon and of clients, and handshakes."""

import json
import select
import signal
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from live import DIGCTL, TIMEOUT_S
from token_access import TOKENS, event, guarded, hello, ingest, send_and_wait, status_of

TRACE = Path(__file__).parents[1] / "traces/demo.jsonl"


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
            daemon.wait_logged("reloaded")
            assert https(daemon, trusting(cert))[0] == 200
            send_and_wait(ws, event(2, "e2"), seq=2)
        cert.write_text("no certificate")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_logged("reload_refused")


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
