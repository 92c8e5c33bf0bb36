"""digctl attribute chief asks a model through the proxy that the environment names."""

import base64
import json
import socket
import socketserver
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chat_endpoint import Endpoint, make_certificate, verdict  # noqa: E402


class Proxy:
    """An HTTP proxy on loopback: it keeps the head of each request, and connects to where the request says."""

    def __init__(self, user=None):
        self.heads = []
        outer = self
        wanted = "Basic " + base64.b64encode(user.encode()).decode() if user else None

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                data = b""
                while b"\r\n\r\n" not in data:
                    piece = self.request.recv(65536)
                    if not piece:
                        return
                    data += piece
                head = data.split(b"\r\n\r\n")[0].decode()
                outer.heads.append(head)
                method, target, _ = head.split("\r\n")[0].split(" ")
                if wanted and f"Proxy-Authorization: {wanted}" not in head:
                    self.request.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                    return
                place = target if method == "CONNECT" else target.removeprefix("http://").split("/")[0]
                host, port = place.split(":")
                with socket.create_connection((host, int(port))) as server:
                    if method == "CONNECT":
                        self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    else:
                        server.sendall(data)
                    there = threading.Thread(target=copy, args=(self.request, server))
                    there.start()
                    copy(server, self.request)
                    there.join()

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def copy(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side has closed


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.json"
    history = [{"content": "I count 12.", "role": "assistant", "name": name} for name in ("Reader", "Clerk")]
    path.write_text(json.dumps({"question": "How many?", "ground_truth": "12", "history": history}))
    return path


def ask(digctl, log, endpoint, *args, **env):
    args = ("--llm", endpoint.url, "--model", "m", "--llm-tries", 1, "--judge", "all-at-once", *args)
    return digctl("attribute", "chief", log, *args, env=env)


def test_https_goes_through_a_tunnel_and_the_proxy_sees_no_key(digctl, log, tmp_path):
    certificate, key = make_certificate(tmp_path)
    with Endpoint(lambda _: verdict("Clerk", 1), (certificate, key)) as endpoint, Proxy("anna:p@ss") as proxy:
        at = f"http://anna:p%40ss@127.0.0.1:{proxy.port}"
        got = ask(digctl, log, endpoint, "--llm-ca", certificate, https_proxy=at, DIGD_LLM_KEY="sekrit")
    assert got.returncode == 0, got.stderr
    assert endpoint.keys == ["Bearer sekrit"]
    assert proxy.heads[0].startswith(f"CONNECT 127.0.0.1:{endpoint.server.server_port} HTTP/1.1\r\n")
    assert len(proxy.heads) == 1 and "sekrit" not in proxy.heads[0]


def test_a_proxy_that_refuses_is_named_with_its_status(digctl, log, tmp_path):
    certificate, key = make_certificate(tmp_path)
    with Endpoint(lambda _: verdict("Clerk", 1), (certificate, key)) as endpoint, Proxy("anna:p@ss") as proxy:
        got = ask(digctl, log, endpoint, "--llm-ca", certificate, https_proxy=f"http://127.0.0.1:{proxy.port}")
    assert got.returncode == 2 and "the proxy answers with status 407" in got.stderr, got.stderr
    assert endpoint.requests == []


def test_http_is_sent_to_the_proxy_with_the_whole_url(digctl, log):
    with Endpoint(lambda _: verdict("Clerk", 1)) as endpoint, Proxy() as proxy:
        got = ask(digctl, log, endpoint, http_proxy=f"127.0.0.1:{proxy.port}")
    assert got.returncode == 0, got.stderr
    assert len(endpoint.requests) == 1
    assert proxy.heads[0].startswith(f"POST {endpoint.url}/chat/completions HTTP/1.1\r\n")


def test_excepted_hosts_are_asked_without_the_proxy(digctl, log):
    with Endpoint(lambda _: verdict("Clerk", 1)) as endpoint, Proxy() as proxy:
        got = ask(digctl, log, endpoint, http_proxy=f"127.0.0.1:{proxy.port}", no_proxy="127.0.0.1")
    assert got.returncode == 0, got.stderr
    assert len(endpoint.requests) == 1 and proxy.heads == []


def test_a_proxy_of_another_kind_is_refused(digctl, log):
    with Endpoint(lambda _: verdict("Clerk", 1)) as endpoint:
        got = ask(digctl, log, endpoint, http_proxy="socks5://127.0.0.1:1")
    assert got.returncode == 2 and "http_proxy names no proxy of the form http://HOST:PORT" in got.stderr, got.stderr


def test_a_url_without_a_host_is_refused_before_anything_is_asked(digctl, log):
    got = digctl("attribute", "chief", log, "--llm", "llm.example/v1", "--model", "m", "--judge", "all-at-once")
    assert got.returncode == 2 and "--llm must be" in got.stderr, got.stderr
