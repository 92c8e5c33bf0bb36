"""What one token or one peer may use: connections, runs, bytes, rates, guesses; and whose a session is."""

import json
import re
import signal
import socket

import pytest
from live import TIMEOUT_S, Daemon, wait_until
from token_access import TOKENS, entry, event, guarded, hello, ingest, status_of
from watching import metric
from websockets.exceptions import ConnectionClosed, InvalidStatus

ALL = TOKENS["all"][0]
LIMITED, OTHER = "1" * 64, "2" * 64


def limited(folder, limits, config=""):
    """A daemon with the token `limited`, which has these limits, and one without any."""
    tokens = folder / "tokens.toml"
    rights = ["ingest", "watch"]
    tokens.write_text(
        entry("limited", LIMITED, rights, limits) + entry("other", OTHER, rights) + entry("all", *TOKENS["all"][:2])
    )
    return Daemon(folder, f'tokens = "{tokens}"\n{config}')


def hits(daemon, limit):
    status, text = status_of(daemon, "/metrics", ALL)
    assert status == 200
    return float(re.search(rf'digd_limits_hit_total{{limit="{limit}"}} (\S+)', text)[1])


def greeted(socket, run, session="s1"):
    socket.send(hello(run, session=session))
    return json.loads(socket.recv())


def test_a_token_has_so_many_connections_and_others_are_not_affected(tmp_path):
    with limited(tmp_path, "max_connections = 2") as daemon:
        with ingest(daemon, LIMITED) as first, ingest(daemon, LIMITED, path="/v1/feed", subprotocols=["digd.feed.v1"]):
            assert greeted(first, "r1")["type"] == "welcome"
            with pytest.raises(InvalidStatus) as refused:
                ingest(daemon, LIMITED)
            assert refused.value.response.status_code == 429
            assert hits(daemon, "connections_of_token") == 1
            with ingest(daemon, OTHER) as other:
                assert greeted(other, "r2")["type"] == "welcome"
        wait_until(lambda: opens(daemon, LIMITED), "the closed connections to be counted out")


def opens(daemon, token):
    try:
        ingest(daemon, token).close()
        return True
    except InvalidStatus:
        return False


def test_a_token_has_so_many_open_runs_until_one_ends(tmp_path):
    with limited(tmp_path, "max_runs = 1") as daemon:
        with ingest(daemon, LIMITED) as first, ingest(daemon, LIMITED) as second, ingest(daemon, OTHER) as other:
            assert greeted(first, "r1")["type"] == "welcome"
            refused = greeted(second, "r2")
            assert refused["code"] == "over_limit" and "max_runs" in refused["message"]
            assert greeted(second, "r1", "s2")["type"] == "welcome"  # a run that is open already
            assert greeted(other, "r3")["type"] == "welcome"
            assert hits(daemon, "runs_of_token") == 1
            first.send(json.dumps({"type": "run_ended", "seq": 1, "ts": 1, "outcome": "success"}))
            while json.loads(first.recv())["type"] != "ack":
                pass
        with ingest(daemon, LIMITED) as next_one:
            assert greeted(next_one, "r4")["type"] == "welcome"


def fill(daemon, run):
    """Sends events of the limited token until digd refuses one. Returns how many it took, and the error."""
    with daemon.client(run, token=LIMITED) as c:

        def refusal():
            c.event(f"{run}-{c.seq + 1}", ["a"], event={"payload": "x" * 2000})
            c.wait_acked()
            return next((frame for frame in c.kept if frame["type"] == "error"), None)

        error = wait_until(refusal, "the refusal")
        return error["seq"] - 1, error


def takes_messages(daemon, run, token):
    session = f"of-{token[0]}"
    with daemon.client(run, session, token=token) as c:
        c.event(f"{session}-{c.seq + 1}", ["a"])
        c.wait_acked()
        return "error" not in [frame["type"] for frame in c.kept]


def opens_run(daemon, run, token=LIMITED):
    with ingest(daemon, token) as client:
        frame = greeted(client, run)
        assert frame["type"] == "welcome" or (frame["code"] == "over_limit" and "max_bytes" in frame["message"]), frame
        return frame["type"] == "welcome"


def events_of_token(daemon):
    """What the log says about the limited token, in order."""
    return re.findall(r'(token_full|token_has_room) token="limited"', daemon.log_text())


def test_a_token_with_too_many_bytes_in_the_archive_is_refused_until_runs_are_deleted(tmp_path):
    with limited(tmp_path, "max_bytes = 10000") as daemon:
        taken, error = fill(daemon, "r1")
        assert taken >= 5 and error["code"] == "over_limit" and "max_bytes" in error["message"]
        assert hits(daemon, "bytes_of_token") == 1
        assert not takes_messages(daemon, "r1", OTHER)  # the run counts for the token that opened it
        assert not opens_run(daemon, "r2")
        assert hits(daemon, "bytes_of_token") == 3
        assert opens_run(daemon, "r3", OTHER) and takes_messages(daemon, "r3", OTHER)
        assert takes_messages(daemon, "r3", LIMITED)
        with daemon.client("r1", token=LIMITED) as c:
            c.tell("run_ended", outcome="success")
            c.wait_acked()
            assert "error" not in [frame["type"] for frame in c.kept]
        assert events_of_token(daemon) == ["token_full"]
        daemon.kill()
        daemon.start()
        assert not opens_run(daemon, "r2")  # also what an ended run takes counts
        assert takes_messages(daemon, "r3", OTHER)
        assert status_of(daemon, "/v1/runs/r1", ALL, "DELETE")[0] == 204
        wait_until(lambda: opens_run(daemon, "r2"), "room for a new run")
        assert takes_messages(daemon, "r2", LIMITED)
        assert events_of_token(daemon)[-1] == "token_has_room"
        assert hits(daemon, "bytes_of_token") > 0


def is_token_full(daemon):
    """Whether the token is full. Waits for a connection that is not closed: a reload may close one that is new."""

    def state():
        try:
            return "has room" if takes_messages(daemon, "r1", LIMITED) else "full"
        except ConnectionClosed:
            return None

    return wait_until(state, "a connection that stays open") == "full"


def test_a_reload_changes_what_a_token_may_have_in_the_archive(tmp_path):
    with limited(tmp_path, "") as daemon:
        with daemon.client("r1", token=LIMITED) as c:
            c.event("e1", ["a"], event={"payload": "x" * 5000})
            c.wait_acked()
        assert opens_run(daemon, "r2")
        for limit, is_full in (("max_bytes = 1000", True), ("max_bytes = 1000000", False), ("", False)):
            reloads = daemon.log_text().count("tokens count=")
            limited(tmp_path, limit)  # writes the file again
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda n=reloads: daemon.log_text().count("tokens count=") > n, "the reload")
            wait_until(lambda full=is_full: is_token_full(daemon) == full, f"the effect of {limit!r}")
        assert events_of_token(daemon) == ["token_full", "token_has_room"]


def test_a_token_over_its_byte_rate_waits_and_loses_nothing(tmp_path):
    with limited(tmp_path, "byte_rate = 20000") as daemon:
        with ingest(daemon, LIMITED) as slow:
            assert greeted(slow, "r1")["type"] == "welcome"
            for seq in range(1, 31):
                slow.send(json.dumps({**event(seq, f"e{seq}"), "note": "x" * 1000}))
            acked = 0
            while acked < 30:
                frame = json.loads(slow.recv(timeout=30))
                acked = frame["seq"] if frame["type"] == "ack" else acked
        assert hits(daemon, "rate") > 0


def test_a_session_belongs_to_the_token_that_opened_it_also_after_a_restart(tmp_path):
    with limited(tmp_path, "") as daemon:
        with ingest(daemon, LIMITED) as owner:
            assert greeted(owner, "r1")["type"] == "welcome"
            owner.send(json.dumps(event(1, "e1")))
            while json.loads(owner.recv())["type"] != "ack":
                pass
            assert_foreign(daemon, "r1")
        daemon.kill()
    with limited(tmp_path, "") as daemon:
        assert_foreign(daemon, "r1")
        with ingest(daemon, LIMITED) as owner:
            welcome = greeted(owner, "r1")
            assert welcome["type"] == "welcome" and welcome["acked_seq"] == 1


def assert_foreign(daemon, run):
    with ingest(daemon, OTHER) as thief:
        refused = greeted(thief, run)
        assert refused["code"] == "unauthorized" and refused["field"] == "session", refused
        with pytest.raises(ConnectionClosed):
            thief.recv()


def test_one_peer_has_so_many_connections(tmp_path):
    with Daemon(tmp_path, "[connections]\nmax_per_peer = 2\n") as daemon:
        with daemon.raw() as first, daemon.raw():
            first.sendall(f"GET /healthz HTTP/1.1\r\nHost: {daemon.address}\r\n\r\n".encode())
            assert first.recv(100).startswith(b"HTTP/1.1 200")
            with daemon.raw() as third:
                assert third.recv(1) == b""
        daemon.wait_logged("too_many_connections")
        wait_until(lambda: answers(daemon), "the two connections to close")
        assert metric(daemon, 'digd_limits_hit_total{limit="connections_of_peer"}') >= 1


def answers(daemon):
    try:
        return status_of(daemon, "/healthz")[0] == 200
    except ConnectionError:
        return False


def test_operators_reach_digd_while_clients_hold_all_connections(tmp_path):
    path = tmp_path / "operator.sock"
    config = f'operator_listen = "unix:{path}"\n[connections]\nmost = 2\n'
    with Daemon(tmp_path, config) as daemon:
        with daemon.raw() as first, daemon.raw():
            first.sendall(f"GET /healthz HTTP/1.1\r\nHost: {daemon.address}\r\n\r\n".encode())
            assert first.recv(100).startswith(b"HTTP/1.1 200")
            with daemon.raw() as third:
                assert third.recv(1) == b""
            assert b'{"mode":"observe"' in by_socket(path, "PUT /v1/mode", b'{"mode":"observe"}')
            assert b'digd_limits_hit_total{limit="connections"} 1' in by_socket(path, "GET /metrics")
            assert b" 200 OK" in by_socket(path, "GET /readyz")
        assert path.stat().st_mode & 0o777 == 0o600
        assert daemon.stop() == 0
    assert not path.exists()


def by_socket(path, action, body=b""):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(TIMEOUT_S)
        s.connect(str(path))
        head = f"{action} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        s.sendall(head.encode() + body)
        answer = b""
        while chunk := s.recv(65536):
            answer += chunk
        return answer


def test_a_refused_token_ends_the_connection_and_a_peer_has_so_many_guesses_a_second(tmp_path):
    with guarded(tmp_path) as daemon:
        with daemon.raw() as guesser:
            guesser.sendall(f"GET /v1/runs HTTP/1.1\r\nHost: {daemon.address}\r\n\r\n".encode())
            answer = b""
            while chunk := guesser.recv(4096):
                answer += chunk
            assert answer.startswith(b"HTTP/1.1 401") and b"Connection: close" in answer
        seen = {status_of(daemon, "/v1/runs", "0" * 64)[0] for _ in range(400)}
        assert seen <= {401, 429}
        assert status_of(daemon, "/v1/runs", ALL)[0] == 200  # who has a token is not affected
        text = status_of(daemon, "/metrics", ALL)[1]
        assert float(re.search(r"^digd_tokens_refused_total (\S+)", text, re.MULTILINE)[1]) == 401


def test_the_audit_log_names_the_author_of_each_change_and_refused_tokens(tmp_path):
    with guarded(tmp_path) as daemon:
        with ingest(daemon, ALL) as client:
            assert greeted(client, "r1")["type"] == "welcome"
            client.send(json.dumps({"type": "run_ended", "seq": 1, "ts": 1, "outcome": "success"}))
            while json.loads(client.recv())["type"] != "ack":
                pass
        assert status_of(daemon, "/v1/mode", ALL, "PUT", b'{"mode":"observe"}')[0] == 200
        assert status_of(daemon, "/v1/mode", ALL)[0] == 200  # reading is not a change
        assert status_of(daemon, "/v1/runs/r1?x=secret", ALL, "DELETE")[0] == 204
        assert status_of(daemon, "/v1/runs", "0" * 64)[0] == 401
        assert status_of(daemon, "/v1/mode", TOKENS["watcher"][0], "PUT", b'{"mode":"off"}')[0] == 403
        file = daemon.data / "audit.jsonl"
        wait_until(lambda: len(file.read_text().splitlines()) == 4, "four lines of the audit log")
        assert file.stat().st_mode & 0o777 == 0o600
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [(x["action"], x["by"], x["from"], x["status"]) for x in lines] == [
            ("PUT /v1/mode", "all", "127.0.0.1", 200),
            ("DELETE /v1/runs/r1", "all", "127.0.0.1", 204),
            ("GET /v1/runs", None, "127.0.0.1", 401),
            ("PUT /v1/mode", "watcher", "127.0.0.1", 403),
        ]
        assert lines[0]["body"] == '{"mode":"observe"}'
        assert "0" * 64 not in file.read_text() and "secret" not in file.read_text()
