"""The feed of a running digd: its frames, its filters, and slow readers."""

import json
import socket
import threading

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from live import TIMEOUT_S, Daemon, wait_until
from watching import Feed, ask, metric, orphan, work


# ---- the feed


def test_the_feed_sends_messages_verdicts_and_detections(daemon):
    feed = Feed(daemon)
    with daemon.client(agents=["a", "b"]) as c:
        work(c)
        orphan(c)
        c.wait_acked()
        frames = feed.until(lambda f: f["type"] == "verdicts" and f["of"] == c.seq)
    assert {f["run"] for f in frames} == {"r1"} and feed.ws.subprotocol == "digd.feed.v1"
    assert [f["message"]["type"] for f in frames if f["type"] == "message"] == [
        "event",
        "activation_started",
        "activation_ended",
        "activation_started",
        "activation_ended",
    ]
    assert "secret" not in json.dumps(frames)
    detection = next(f for f in frames if f["type"] == "detection")
    assert detection["detection"]["rule"] == "orphaned_event" and detection["detection"]["witness"]
    verdicts = [f for f in frames if f["type"] == "verdicts"]
    assert verdicts[0]["verdicts"] == [{"event": "e1", "action": "deliver"}] and verdicts[0]["of"] == 1
    assert verdicts[-1]["verdicts"][0]["action"] == "reroute"
    seqs = [f["seq"] for f in frames]
    assert seqs == sorted(seqs)
    feed.close()


def test_payloads_are_sent_only_if_requested(daemon):
    plain, full = Feed(daemon, "?run=r1"), Feed(daemon, "?run=r1&payloads=1")
    with daemon.client(run="other", agents=["a", "b"]) as other, daemon.client(agents=["a", "b"]) as c:
        work(other)
        c.send_raw(
            '{"type":"event","seq":1,"event":{"\\u0070ayload":{"x":"a secret, }]"},"id":"e1","recipients":["a"]}}'
        )
        c.seq = 1
        c.wait_acked()
        other.wait_acked()
        of_plain, of_full = plain.take(2), full.take(2)
    assert of_plain[0]["message"] == {"type": "event", "seq": 1, "event": {"id": "e1", "recipients": ["a"]}}
    assert of_full[0]["message"]["event"]["payload"] == {"x": "a secret, }]"}
    assert {f["run"] for f in of_plain + of_full} == {"r1"}
    plain.close(), full.close()


def test_a_reader_that_reconnects_misses_nothing_over_restarts(tmp_path):
    with Daemon(tmp_path, "threads = 2\n") as daemon:
        whole, seen, sent = [], 0, 0
        clients = {}
        for round in range(3):
            clients = {r: daemon.client(run=r, agents=["a", "b"]) for r in ("r1", "r2")}
            feed = Feed(daemon, f"?since={seen}")
            for part in range(3):
                for c in clients.values():
                    work(c, 20, first=sent + 1)
                    c.wait_acked()
                sent += 20
                frames = feed.take(30)  # read some frames, then disconnect
                feed.drop()
                complete = [f["seq"] for f in frames if f.get("last")]
                seen = complete[-1]
                whole += [f for f in frames if f["seq"] <= seen]
                feed = Feed(daemon, f"?since={seen}")
            feed.drop()
            for c in clients.values():
                c.drop()
            daemon.kill() if round == 0 else daemon.stop()
            daemon.start()
        feed = Feed(daemon, f"?since={seen}")
        with daemon.client(run="r1", agents=["a", "b"]) as c:
            mark = c.tell("agent_joined", agent="mark")
            c.wait_acked(mark)
        whole += feed.until(lambda f: f["type"] == "message" and f["message"].get("agent") == "mark")
        feed.drop()
        for run, extra in (("r1", 1), ("r2", 0)):
            seqs = [f["message"]["seq"] for f in whole if f["run"] == run and f["type"] == "message"]
            assert seqs == list(range(1, 3 * sent + 1 + extra)), run
        assert all(a["seq"] <= b["seq"] for a, b in zip(whole, whole[1:]))


def test_a_commit_with_large_messages_delays_no_reader_of_another_run(daemon):
    with daemon.client(run="large", agents=["a"]) as large, daemon.client(run="small", agents=["a"]) as small:
        feed = Feed(daemon, "?run=small")
        for round in range(5):
            for i in range(200):  # a reading of the archive takes 4 MiB, and a transaction may have more
                large.event(f"l{round}-{i}", ["a"], event={"payload": "x" * 100_000})
            small.event(f"s{round}", ["a"])
            small.wait_acked()
            large.wait_acked()
            feed.until(lambda f: f["type"] == "message" and f["message"].get("event", {}).get("id") == f"s{round}")
        feed.drop()


def test_positions_are_not_reused_after_the_newest_run_is_deleted(daemon):
    feed = Feed(daemon)
    with daemon.client(run="gone", agents=["a", "b"]) as c:
        work(c, 5)
        c.wait_acked()
    last = feed.until(lambda f: f["type"] == "verdicts" and f["of"] == 15)[-1]["seq"]
    feed.close()
    assert ask(daemon, "DELETE", "/v1/runs/gone")[0] == 204
    daemon.stop()
    daemon.start()
    with daemon.client(agents=["a", "b"]) as c:
        work(c)
        orphan(c)
        c.wait_acked()
    feed = Feed(daemon, f"?since={last}")
    frames = feed.until(lambda f: f["type"] == "verdicts" and f["of"] == 5)
    assert [f["message"]["seq"] for f in frames if f["type"] == "message"] == [1, 2, 3, 4, 5]
    assert any(f["type"] == "detection" for f in frames)
    feed.close()


def test_a_slow_reader_is_dropped_and_ingest_continues(daemon):
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = daemon.address.rsplit(":", 1)
    slow.settimeout(TIMEOUT_S)
    slow.connect((host, int(port)))
    slow.sendall(
        (
            f"GET /v1/feed?payloads=1 HTTP/1.1\r\nHost: {daemon.address}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            "Sec-WebSocket-Protocol: digd.feed.v1\r\n\r\n"
        ).encode()
    )
    assert slow.recv(12) == b"HTTP/1.1 101"
    good = Feed(daemon, "?payloads=1")
    count = []

    def read():
        try:
            while True:
                count.append(json.loads(good.ws.recv(timeout=TIMEOUT_S))["seq"])
        except (ConnectionClosed, TimeoutError):
            pass

    reader = threading.Thread(target=read)
    reader.start()
    sent = 0
    with daemon.client(agents=["a", "b"]) as c:

        def dropped():
            nonlocal sent
            for _ in range(20):
                sent += 1
                c.event(f"e{sent}", ["a"], event={"payload": "x" * 50_000})
            c.wait_acked()
            return metric(daemon, 'digd_limits_hit_total{limit="feed_queue"}') >= 1

        wait_until(dropped, "the slow reader to be dropped", 60)
        c.event("still", ["a"])
        assert c.verdicts()
        c.wait_acked()
    wait_until(lambda: len(count) >= 2 * (sent + 1), "the good reader to receive all frames")
    assert count == sorted(count)
    good.close()
    reader.join(TIMEOUT_S)
    slow.close()


def test_batches_carry_the_same_frames_in_fewer_messages(daemon):
    with daemon.client(agents=["a", "b"]) as c:
        work(c, 500)
        c.wait_acked()
        single = Feed(daemon, "?since=0").until(lambda f: f["type"] == "verdicts" and f["of"] == c.seq)
    batched = Feed(daemon, "?since=0&batch=1")
    frames, messages = [], 0
    while len(frames) < len(single):
        frames += (batch := batched.take(1)[0])
        messages += 1
        assert isinstance(batch, list) and batch
    assert frames == single and messages < len(frames) / 10


@pytest.mark.parametrize("query", ["?since=x", "?since=-1", "?payloads=2", "?batch=yes", "?run="])
def test_a_bad_feed_query_is_refused(daemon, query):
    with pytest.raises(InvalidStatus) as refused:
        Feed(daemon, query)
    assert refused.value.response.status_code == 400
    assert query[1:].split("=")[0] + ":" in json.loads(refused.value.response.body)["error"]["message"]


def test_the_feed_requires_its_subprotocol_and_a_trusted_origin(daemon):
    for options, status in ((dict(subprotocols=["digd.v1"]), 400), (dict(origin="http://evil.example"), 403)):
        with pytest.raises(InvalidStatus) as refused:
            Feed(daemon, **options)
        assert refused.value.response.status_code == status


def test_the_daemon_closes_feed_readers_when_it_stops(daemon):
    feed = Feed(daemon)
    wait_until(lambda: metric(daemon, "digd_feed_readers") == 1, "the reader to connect")
    assert daemon.stop() == 0
    with pytest.raises(ConnectionClosed) as gone:
        feed.take(1)
    assert gone.value.rcvd.code == 1001
