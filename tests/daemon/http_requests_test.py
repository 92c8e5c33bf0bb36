"""HTTP and upgrade requests: hosts, origins, subprotocols, bad requests, and the Unix socket."""

import json

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from live import Daemon


def upgrade(**change):
    headers = {"Host": "localhost:PORT", "Upgrade": "websocket", "Connection": "Upgrade",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Protocol": "digd.v1"}
    for name, value in change.items():
        headers[name.replace("_", "-")] = value
    return headers


def ask(daemon, headers, target="/v1/ingest", method="GET"):
    port = daemon.address.rsplit(":", 1)[-1]
    lines = [f"{method} {target} HTTP/1.1"]
    headers = {"Connection": "close", **headers}  # Daemon.http reads until the connection closes
    lines += [f"{k}: {v.replace('PORT', port)}" for k, v in headers.items() if v is not None]
    return daemon.http(("\r\n".join(lines) + "\r\n\r\n").encode())


@pytest.mark.parametrize("headers, target, method, status", [
    (dict(Host="localhost:PORT"), "/healthz", "GET", 200),
    (dict(Host="127.0.0.1:PORT"), "/healthz", "GET", 200),
    (dict(Host="localhost:PORT"), "/nowhere", "GET", 404),
    (dict(Host="localhost:PORT"), "/v1/ingest", "GET", 426),
    (dict(Host="localhost:PORT"), "/v1/ingest", "POST", 405),
    (dict(Host="evil.example:PORT"), "/healthz", "GET", 403),
    (dict(), "/healthz", "GET", 403),
    (upgrade(Host="evil.example:PORT"), "/v1/ingest", "GET", 403),
    (upgrade(Host="localhost"), "/v1/ingest", "GET", 403),
    (upgrade(Origin="http://evil.example"), "/v1/ingest", "GET", 403),
    (upgrade(Origin="null"), "/v1/ingest", "GET", 403),
    (upgrade(Sec_WebSocket_Protocol=None), "/v1/ingest", "GET", 400),
    (upgrade(Sec_WebSocket_Protocol="digd.v2"), "/v1/ingest", "GET", 400),
    (upgrade(), "/v1/ingest?run=%zz", "GET", 400),
    (dict(Host="localhost:PORT", X="x" * 20_000), "/healthz", "GET", 431)])
def test_a_request_gets_its_status(daemon, headers, target, method, status):
    assert ask(daemon, headers, target, method)[0] == status


def test_garbage_is_refused_and_the_daemon_continues(daemon):
    assert daemon.http(b"\x16\x03\x01\x02\x00\r\n\r\n")[0] == 400
    assert ask(daemon, dict(Host="localhost:PORT"), "/healthz")[0] == 200


def test_only_a_page_of_this_host_may_connect(daemon):
    with connect(f"ws://{daemon.address}/v1/ingest", subprotocols=["digd.v1"], origin=f"http://{daemon.address}") as c:
        assert c.subprotocol == "digd.v1"
    with pytest.raises(InvalidStatus):
        connect(f"ws://{daemon.address}/v1/ingest", subprotocols=["digd.v1"], origin="https://evil.example")


def test_a_frame_sent_with_the_upgrade_request_is_not_lost(daemon):
    frame = json.dumps({"type": "hello", "protocol": 1, "run": "early"}).encode()
    masked = bytes([0x81, 0x80 | len(frame)]) + b"\0\0\0\0" + frame
    port = daemon.address.rsplit(":", 1)[-1]
    head = "\r\n".join(["GET /v1/ingest?run=early HTTP/1.1", *(f"{k}: {v.replace('PORT', port)}"
                                                              for k, v in upgrade().items())]) + "\r\n\r\n"
    with daemon.raw() as s:
        s.sendall(head.encode() + masked)
        got = b""
        while b'"welcome"' not in got:
            chunk = s.recv(65536)
            assert chunk, got
            got += chunk
    assert b"101 Switching Protocols" in got and b"digd.v1" in got


def test_a_unix_socket_is_accessible_only_to_its_owner(tmp_path):
    path = tmp_path / "s"
    with Daemon(tmp_path, listen=f"unix:{path}") as daemon:
        assert path.stat().st_mode & 0o777 == 0o600
        for place in (True, False):
            with daemon.client("r" + str(place), place=place) as c:
                c.event("e1", ["a"])
                assert c.verdicts()
        daemon.kill()
        daemon.start()  # at the socket file that the killed daemon left
        with daemon.client() as c:
            c.event("e1", ["a"])
        assert daemon.stop() == 0
        assert not path.exists()
