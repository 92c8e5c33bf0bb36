"""Answers that a client missed are sent again after a reconnect (`answered_seq`), byte for byte as first sent."""

import json

import pytest

from live import Daemon, drop


def event(id, *to):
    return {"type": "event", "event": {"id": id, "recipients": list(to)}}


def answers(client, count):
    """The next `count` verdicts and errors, as text."""
    found = []
    while len(found) < count:
        text = client.ws.recv(20)
        if json.loads(text)["type"] in ("verdicts", "error"):
            found.append(text)
    return found


def send(client, *messages):
    for message in messages:
        client.seq += 1
        client.send_raw({"seq": client.seq, "ts": 5, **message})


def acked(client, seq):
    """Reads up to the ack of `seq`."""
    while True:
        frame = json.loads(client.ws.recv(20))
        if frame["type"] == "ack" and frame["seq"] >= seq:
            return


MESSAGES = [
    event("e1", "a"),
    event("e2", "ghost"),  # an orphan: a verdict with a detection
    event("e1", "a"),  # refused: a duplicate
    {"type": "time"},  # no answer
    {"type": "event"},  # refused: no event
    {"type": "refused"},  # refused, and the archive keeps a line in its place
    event("\"é\n", "a", "b"),
]
ANSWERED = [1, 2, 3, 5, 6, 7]


def play(daemon):
    client = daemon.client(agents=["a", "b"])
    send(client, *MESSAGES)
    first = answers(client, len(ANSWERED))
    assert [json.loads(frame)["seq"] for frame in first] == ANSWERED
    acked(client, len(MESSAGES))
    drop(client.ws)
    return first


@pytest.mark.parametrize("way", ["connected", "killed", "ended"])
def test_missed_answers_come_again_as_first_sent(tmp_path, way):
    with Daemon(tmp_path) as daemon:
        first = play(daemon)
        if way == "killed":
            daemon.kill()
            daemon.start()
        if way == "ended":
            client = daemon.client()
            send(client, {"type": "run_ended", "outcome": "success"})
            acked(client, len(MESSAGES) + 1)
            drop(client.ws)
        for answered in (0, 1, 4, 6):
            client = daemon.client(answered_seq=answered)
            expected = [frame for frame in first if json.loads(frame)["seq"] > answered]
            assert answers(client, len(expected)) == expected
            drop(client.ws)


def test_an_error_comes_again_as_first_sent_if_the_archive_keeps_a_fingerprint_in_the_message(tmp_path):
    repeated = event("e1", "a")
    repeated["event"]["payload"] = "a task"
    with Daemon(tmp_path) as daemon:
        client = daemon.client(agents=["a"], guards={"repetition": {"max_repeats": 5}})
        send(client, repeated, repeated)
        first = answers(client, 2)
        assert json.loads(first[1])["type"] == "error"
        acked(client, 2)
        drop(client.ws)
        daemon.kill()
        daemon.start()
        assert answers(daemon.client(answered_seq=0), 2) == first


def test_new_messages_are_answered_after_the_missed_ones(tmp_path):
    with Daemon(tmp_path) as daemon:
        first = play(daemon)
        client = daemon.client(answered_seq=0)
        send(client, event("later", "a"))
        found = answers(client, len(first) + 1)
        assert found[:-1] == first and json.loads(found[-1])["seq"] == len(MESSAGES) + 1


@pytest.mark.parametrize("hello", [{}, {"answered_seq": 7}, {"answered_seq": 1 << 60}])
def test_nothing_comes_again_without_a_missed_answer(tmp_path, hello):
    with Daemon(tmp_path) as daemon:
        play(daemon)
        client = daemon.client(**hello)
        send(client, event("later", "a"))
        assert json.loads(answers(client, 1)[0])["seq"] == len(MESSAGES) + 1


def test_an_answered_seq_that_is_no_number_is_refused(tmp_path):
    with Daemon(tmp_path) as daemon:
        client = daemon.client(greet=False)
        client.send_raw({**client.hello, "answered_seq": "all"})
        error = json.loads(client.ws.recv(20))
        assert (error["type"], error["code"], error["field"]) == ("error", "bad_message", "answered_seq")


def test_thousands_of_missed_answers_come_in_order_through_a_small_queue(tmp_path):
    many = 5000
    with Daemon(tmp_path, "[connections]\nqueue_frames = 600\nqueue_bytes = 300000\n") as daemon:
        client = daemon.client(agents=["a"])
        for start in range(0, many, 100):
            send(client, *(event(f"e{i}", "ghost") for i in range(start, start + 100)))
            answers(client, 100)
        acked(client, many)
        daemon.kill()
        daemon.start()
        client = daemon.client(answered_seq=0, max_queue=1)
        seqs = [json.loads(frame)["seq"] for frame in answers(client, many)]
        assert seqs == list(range(1, many + 1))
