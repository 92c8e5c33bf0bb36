"""What others on the machine, on the way and in browsers can reach: files, ciphers, frames, requests."""

import socket
import ssl
import stat
import subprocess

import pytest

from live import TIMEOUT_S, Daemon
from tls_connections_test import certificate, trusting
from token_access import TOKENS, guarded, status_of
from watching import ask


@pytest.mark.parametrize(
    "cipher,accepted", [("ECDHE-ECDSA-AES128-GCM-SHA256", True), ("ECDHE-ECDSA-AES128-SHA", False)]
)
def test_tls_1_2_takes_only_modern_ciphers(tmp_path, cipher, accepted):
    cert, key = certificate(tmp_path, "one")
    with guarded(tmp_path, f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n') as daemon:
        context = trusting(cert)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(cipher)
        host, port = daemon.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), TIMEOUT_S) as plain:
            if accepted:
                context.wrap_socket(plain, server_hostname="localhost").close()
            else:
                with pytest.raises(ssl.SSLError):
                    context.wrap_socket(plain, server_hostname="localhost")


def test_no_page_can_be_framed(tmp_path):
    with Daemon(tmp_path) as daemon:
        with daemon.client() as c:
            c.event("e1", ["a"])
            c.wait_acked()
        for path in ("/", "/v1/runs/r1/report?format=html", "/metrics"):
            status, _, headers = ask(daemon, "GET", path)
            assert status == 200 and headers["X-Frame-Options"] == "DENY"
        report = ask(daemon, "GET", "/v1/runs/r1/report?format=html")[2]
        assert "frame-ancestors 'none'" in report["Content-Security-Policy"]


def test_http_1_0_with_a_transfer_encoding_is_refused(tmp_path):
    chunk = b"2\r\n{}\r\n0\r\n\r\n"
    with Daemon(tmp_path) as daemon:
        head = f"PUT /v1/mode HTTP/1.0\r\nHost: {daemon.address}\r\nTransfer-Encoding: chunked\r\n\r\n"
        status, answer = daemon.http(head.encode() + chunk)
        assert status == 400 and "HTTP/1.0 has no Transfer-Encoding" in answer


def test_a_unix_socket_makes_no_host_trusted_at_the_operators_tcp_address(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = tmp_path / "s"
    body = b'{"mode":"off"}'

    def status_at(family, where, host, origin=""):
        with socket.socket(family) as s:
            s.settimeout(TIMEOUT_S)
            s.connect(where)
            head = f"PUT /v1/mode HTTP/1.1\r\nHost: {host}\r\n{origin}Content-Length: {len(body)}\r\n"
            s.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)
            return int(s.recv(100).split()[1])

    with Daemon(tmp_path / "d", f'operator_listen = "127.0.0.1:{port}"\n', listen=f"unix:{path}"):
        tcp = socket.AF_INET, ("127.0.0.1", port)
        unix = socket.AF_UNIX, str(path)
        assert status_at(*tcp, f"evil.example:{port}") == 403
        assert status_at(*tcp, f"evil.example:{port}", f"Origin: http://evil.example:{port}\r\n") == 403
        assert status_at(*tcp, f"localhost:{port}", f"Origin: http://evil.example:{port}\r\n") == 403
        assert status_at(*tcp, f"localhost:{port}", f"Origin: http://localhost:{port}\r\n") == 200
        assert status_at(*unix, "proxy.example") == 200
        assert status_at(*unix, "proxy.example", "Origin: https://proxy.example\r\n") == 200
        assert status_at(*unix, "proxy.example", "Origin: https://evil.example\r\n") == 403


def test_a_token_for_some_runs_sees_no_metrics(tmp_path):
    with guarded(tmp_path) as daemon:
        assert status_of(daemon, "/metrics", TOKENS["watcher"][0])[0] == 403
        assert status_of(daemon, "/metrics", TOKENS["all"][0])[0] == 200


def modes(folder):
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir() if file.is_file()}


def test_files_are_private_in_a_folder_that_others_can_read(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    with Daemon(tmp_path) as daemon:
        with daemon.client() as c:
            c.event("e1", ["a"])
            c.wait_acked()
        running = modes(data)
        assert {"digd.sqlite", "otlp.db"} <= set(running)
        assert {name for name, mode in running.items() if mode & 0o077} == {"digd.address"}
        assert daemon.stop() == 0
        (data / "otlp.db").chmod(0o644)  # as an older digd left it
        daemon.start()
        assert modes(data)["otlp.db"] == 0o600
        daemon.wait_logged("made_private")


def checked(daemon):
    """What `digd --check-config` answers: its exit status, output and errors."""
    done = subprocess.run([*daemon.command(), "--check-config"], capture_output=True, text=True, timeout=TIMEOUT_S)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "mode,words",
    [(0o600, None), (0o640, None), (0o644, "can read or change the secret of tls.key"), (0o620, "can read or change")],
)
def test_a_private_key_that_others_can_read_is_reported(tmp_path, mode, words):
    cert, key = certificate(tmp_path, "one")
    key.chmod(mode)
    daemon = guarded(tmp_path, f'[tls]\ncertificate = "{cert}"\nkey = "{key}"\n')
    (tmp_path / "tokens.toml").chmod(0o600)
    status, _, errors = checked(daemon)
    assert status == 0
    assert ("warning" in errors) == (words is not None) and (words or "") in errors


@pytest.mark.parametrize("mode,is_reported", [(0o600, False), (0o644, True)])
def test_a_file_of_export_headers_that_others_can_read_is_reported(tmp_path, mode, is_reported):
    headers = tmp_path / "otlp.headers"
    headers.write_text("Authorization: Basic c2VjcmV0\n")
    headers.chmod(mode)
    daemon = guarded(tmp_path, f'[otlp_export]\nurl = "http://127.0.0.1:4318/v1/traces"\nheaders_file = "{headers}"\n')
    (tmp_path / "tokens.toml").chmod(0o600)
    status, _, errors = checked(daemon)
    assert status == 0
    assert ("can read or change the secret of otlp_export" in errors) == is_reported


def test_a_wide_address_without_tls_is_reported(tmp_path):
    daemon = guarded(tmp_path)
    daemon.listen = "0.0.0.0:0"
    assert "without TLS" in checked(daemon)[2]
    daemon.listen = "127.0.0.1:0"
    assert "without TLS" not in checked(daemon)[2]


@pytest.mark.parametrize("host,is_reported", [("192.0.2.1", True), ("127.0.0.1", False)])
def test_an_export_over_plain_http_to_another_machine_is_reported(tmp_path, host, is_reported):
    status, _, errors = checked(Daemon(tmp_path, f'[otlp_export]\nurl = "http://{host}:4318/v1/traces"\n'))
    assert status == 0 and ("[otlp_export] goes to" in errors) == is_reported


@pytest.mark.parametrize("fleet,is_reported", [('view = ["/lake"]\n', True), ("", False)])
def test_a_readable_credentials_file_is_reported_if_it_is_used(tmp_path, fleet, is_reported):
    file = tmp_path / "nats.creds"
    file.write_text("secret")
    file.chmod(0o644)
    status, _, errors = checked(Daemon(tmp_path, f'[fleet]\ncredentials = "{file}"\n{fleet}'))
    assert status == 0 and ("secret of fleet.credentials" in errors) == is_reported


def test_no_password_of_a_url_is_printed(tmp_path):
    config = (
        '[fleet]\nview = ["s3://KEY:hush@bucket/x", "nats://ann:hush@127.0.0.1:4222"]\nurl = "ws://ann:hush@h:1"\n'
        '[otlp_export]\nurl = "https://collector.example/v1/traces?key=hush"\n'
    )
    status, printed, errors = checked(Daemon(tmp_path / "a", config))
    assert status == 0 and "hush" not in printed + errors
    assert 'view = ["s3://…@bucket/x", "nats://…@127.0.0.1:4222"]' in printed
    assert 'url = "https://collector.example/…"' in printed
    status, printed, errors = checked(Daemon(tmp_path / "b", '[fleet]\nservers = ["http://ann:hu/sh@h"]\n'))
    assert status == 2 and "does not begin with nats://" in errors and "hu" not in errors.replace("http", "")
