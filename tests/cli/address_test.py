"""How digctl finds its daemon: addresses, tokens, and servers that are not digd."""

import base64
import hashlib
import re
import socket
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from addresses import MALFORMED_ADDRESSES  # noqa: E402
from live import TIMEOUT_S, Daemon  # noqa: E402
from scripted_daemon import unused_port  # noqa: E402
from tail_helpers import Tail, is_harmless  # noqa: E402

@pytest.mark.parametrize(
    "command", [["runs"], ["show", "r1"], ["tail"], ["export", "r1"], ["delete", "r1", "-y"], ["mode"], ["mode", "off"]]
)
def test_without_a_listening_daemon_it_explains_how_to_start_one(digctl, command):
    got = digctl(*command, "--to", f"127.0.0.1:{unused_port()}")
    assert got.returncode == 2 and got.stdout == ""
    assert "nobody listens" in got.stderr and "start the daemon with `digd`" in got.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["runs", "--limit", "0"],
        ["runs", "--format", "xml"],
        ["runs", "extra"],
        ["runs", "--token-file", "/nowhere"],
        ["show"],
        ["export"],
        ["export", "r", "--format", "png"],
        ["delete"],
        ["mode", "loud"],
        ["tail", "--since", "-1"],
        ["tail", "--since", "x"],
        ["tail", "--timeout", "0"],
        ["export", "r", "--data-dir", "/nowhere"],
    ],
)
def test_wrong_usage_is_refused(digctl, args):
    got = digctl(*args)
    assert got.returncode == 2 and got.stderr and got.stdout == "", args


def test_the_daemon_is_named_by_the_environment_and_over_a_unix_socket(digctl, tmp_path):
    with Daemon(tmp_path, "", listen=f"unix:{tmp_path}/s") as daemon:
        with daemon.client(agents=["a"]) as c:
            c.event("e1", ["a"])
            c.wait_acked()
        for args, env in ((["--to", f"unix:{tmp_path}/s"], {}), ([], {"DIGD_URL": f"unix:{tmp_path}/s"})):
            assert "r1" in digctl("runs", *args, env=env).stdout
            assert digctl("export", "r1", *args, env=env).stdout
        with Tail(daemon, "--since", 0, to=f"unix:{tmp_path}/s") as tail:
            tail.until("e1")


@pytest.mark.parametrize("text", MALFORMED_ADDRESSES)
def test_a_malformed_address_is_refused_with_the_valid_forms(digctl, text):
    for command in (["runs"], ["tail"], ["send", "/dev/null"]):
        got = digctl(*command, "--to", text)
        assert got.returncode == 2 and got.stdout == ""
        assert "expected HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH" in got.stderr
    if text:
        assert "DIGD_URL" in digctl("runs", env={"DIGD_URL": text}).stderr


def test_the_four_forms_of_an_address_reach_a_daemon(digctl, tmp_path):
    with Daemon(tmp_path / "tcp", "") as daemon:
        for form in (daemon.address, f"ws://{daemon.address}"):
            assert digctl("runs", "--to", form).returncode == 0
        assert "TLS" in digctl("runs", "--to", f"wss://{daemon.address}").stderr
    with Daemon(tmp_path / "local", "", listen=f"unix:{tmp_path}/s"):
        assert digctl("runs", "--to", f"unix:{tmp_path}/s").returncode == 0


class FakeDaemon:
    """Answers every request with the same bytes; keeps the requests."""

    def __init__(self, answer):
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(TIMEOUT_S)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]

        self.bytes = answer

        def serve():
            try:
                while True:
                    s, _ = self.listener.accept()
                    with s:
                        request = b""
                        while b"\r\n\r\n" not in request and (part := s.recv(4096)):
                            request += part
                        self.requests.append(request.decode())
                        s.sendall(self.answer_to(request.decode()))
            except OSError:
                pass

        self.thread = threading.Thread(target=serve)
        self.thread.start()

    def answer_to(self, request):
        return self.bytes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


def answer(status, body, head=""):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n{body}".encode()


def test_a_token_is_sent(digctl, tmp_path):
    (tmp_path / "token").write_text("from-file\n")
    with FakeDaemon(answer("200 OK", '{"runs":[],"next":null}')) as fake:
        digctl("runs", "--to", fake.address, "--token-file", tmp_path / "token")
        digctl("runs", "--to", fake.address, env={"DIGD_TOKEN": "from-environment"})
    assert "Authorization: Bearer from-file\r\n" in fake.requests[0]
    assert "Authorization: Bearer from-environment\r\n" in fake.requests[1]


@pytest.mark.parametrize(
    "bytes, words",
    [
        (answer("401 Unauthorized", ""), "--token-file"),
        (
            answer("403 Forbidden", '{"error":{"code":"host","message":"Host is \x1b[2J"}}'.replace("\x1b", "\\u001b")),
            "Host is \\u001b[2J",
        ),
        (answer("500 Oops", "<html>"), "answered 500; is that digd?"),
        (answer("200 OK", "<html>"), "not a JSON object"),
        (answer("200 OK", "{}"), "no list of runs"),
        (answer("200 OK", '{"runs":[],"next":"7"}'), "does not end"),
        (answer("200 OK", '{"runs":[],"next":"7:1"}'), "does not end"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "broke off"),
        (b"SSH-2.0-OpenSSH\r\n", "broke off"),
    ],
)
def test_answers_of_other_servers_are_refused(digctl, bytes, words):
    with FakeDaemon(bytes) as fake:
        got = digctl("runs", "--to", fake.address)
    assert got.returncode == 2 and words in got.stderr and is_harmless(got.stderr.replace("\n", "")), got.stderr


def test_a_wrong_token_is_called_wrong(digctl):
    body = '{"error":{"code":"unauthorized","message":"there is no such token"}}'
    for sent, words in ((body, "there is no such token"), ("", "refuses the token")):
        with FakeDaemon(answer("401 Unauthorized", sent)) as fake:
            got = digctl("runs", "--to", fake.address, env={"DIGD_TOKEN": "wrong"})
        assert got.returncode == 2 and words in got.stderr and "requires a token" not in got.stderr


@pytest.mark.parametrize("position", ["many", "7x", "99999999999999999999"])
def test_a_feed_whose_position_is_no_number_is_refused(digctl, position):
    class Feed(FakeDaemon):
        def answer_to(self, request):
            (key,) = re.findall("(?i)sec-websocket-key: *(.*)\r\n", request)
            accept = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            head += f"Sec-WebSocket-Accept: {base64.b64encode(accept).decode()}\r\n"
            return f"{head}Sec-WebSocket-Protocol: digd.feed.v1\r\nDigd-Seq: {position}\r\n\r\n".encode()

    with Feed(b"") as fake:
        got = digctl("tail", "--to", fake.address)
    assert got.returncode == 2
    assert got.stderr == "digctl tail: the feed's position is not a number; is that digd?\n"


def test_a_truncated_trace_is_refused(digctl, tmp_path):
    with FakeDaemon(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n") as fake:
        got = digctl("export", "r1", "--to", fake.address, "-o", tmp_path / "t")
    assert got.returncode == 2 and "broke off" in got.stderr
    assert not (tmp_path / "t").exists()
