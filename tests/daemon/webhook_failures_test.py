"""Webhooks of a running digd: retries, restarts, dead letters and deletions."""

import contextlib
import json
import socket
import sqlite3
import subprocess
import threading

import pytest

from token_access import TOKENS, guarded, hello, ingest, status_of, send_and_wait
from live import TIMEOUT_S, Daemon, wait_until
from set_clock_test import DaemonWithSetClock
from webhook_receiver import Receiver, ask, dead, events_of, hook, orphan, orphans, state


# ---- failures


@pytest.mark.parametrize("failure", ["status", "redirect", "timeout", "hang up"])
def test_a_failed_post_is_retried_with_the_same_id(tmp_path, failure):
    released, times = threading.Event(), []

    def answer(path, body):
        times.append(body["id"])
        if len(times) > 2:
            return 204
        if failure == "timeout":
            released.wait(TIMEOUT_S)
        if failure == "hang up":
            raise ConnectionError
        return (302, {"Location": "/elsewhere"}) if failure == "redirect" else 500

    with Receiver(answer) as r, Daemon(tmp_path, hook(tmp_path, r.url(), timeout_ms=200)) as daemon:
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            wait_until(lambda: state(daemon)["delivered"] == 1, "the delivery")
        released.set()
        assert len(times) == 3 and len(set(times)) == 1
        assert {p["path"] for p in r.posts} == {"/hook"}
        now = state(daemon)
        assert (now["failed"], now["retried"], now["waiting"], now["state"]) == (2, 2, 0, "well")
        words = {
            "status": "status 500",
            "redirect": "status 302",
            "timeout": "no answer within 200 ms",
            "hang up": "no answer: ",
        }[failure]
        daemon.wait_logged('webhook_failed name="pager"', words)
        stamps = [int(p["headers"]["Digd-Timestamp"]) for p in r.posts]
        assert stamps == sorted(stamps)


@pytest.mark.parametrize(
    "answer, delivered",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 300_000, True),  # more than digd reads
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx", True),  # shorter than its Content-Length
        (b"HTTP/1.0 200 \r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", False),
        (b"SSH-2.0-not HTTP at all\r\n" * 100, False),
        (b"", False),
    ],
)
def test_the_answer_of_a_receiver_is_read_only_to_a_limit(tmp_path, answer, delivered):
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(TIMEOUT_S)

    def serve():
        taken, _ = listening.accept()
        with taken:
            taken.settimeout(TIMEOUT_S)
            taken.recv(65536)
            try:
                taken.sendall(answer)
            except OSError:
                pass  # digd does not read all of it

    server = threading.Thread(target=serve)
    server.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    with Daemon(tmp_path, hook(tmp_path, url, attempts=1)) as daemon:
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            now = wait_until(
                lambda: (s := state(daemon))["delivered"] + s["dead"] == 1 and s, "the callback to be delivered or dead"
            )
        assert now["delivered"] == delivered
        assert delivered or dead(daemon)["dead"][0]["why"].startswith("no answer: ")
    server.join()
    listening.close()


def test_callbacks_wait_for_a_receiver_that_is_down(tmp_path):
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
    url = f"http://127.0.0.1:{closed.getsockname()[1]}/hook"
    with Daemon(tmp_path, hook(tmp_path, url, attempts=1000)) as daemon, daemon.client(agents=["a", "b"]) as c:
        orphans(c, 3)
        failing = wait_until(lambda: (s := state(daemon))["failed"] >= 2 and s, "failures")
        assert failing["state"] == "failing" and "Connection refused" in failing["last_failure"]
        assert (failing["waiting"], failing["retrying"]) == (3, 1)
        assert ask(daemon, "GET", "/readyz")["ready"]
        with Receiver(bound=closed) as r:
            assert events_of(r.wait_for(3), "r1") == ["o0", "o1", "o2"]


def test_a_failing_callback_delays_only_its_own_run(tmp_path):
    let_through = threading.Event()
    bad = lambda path, body: path == "/bad" and body["run"] == "bad" and not let_through.is_set()
    with Receiver(lambda path, body: 500 if bad(path, body) else 200) as r:
        config = hook(tmp_path, r.url("/bad"), "one", attempts=1000, concurrency=1) + hook(
            tmp_path, r.url("/good"), "two"
        )
        with (
            Daemon(tmp_path, config) as daemon,
            daemon.client("bad", agents=["a", "b"]) as failing,
            daemon.client("good", agents=["a", "b"]) as healthy,
        ):
            orphans(failing, 3)
            wait_until(lambda: state(daemon, "one")["failed"] >= 2, "failures")
            orphans(healthy, 20)
            r.wait_for(20, "/bad")
            r.wait_for(23, "/good")
            assert events_of(r.taken("/bad"), "good") == [f"o{i}" for i in range(20)]
            assert {
                p["body"]["detection"]["event"] for p in r.posts if p["path"] == "/bad" and p["body"]["run"] == "bad"
            } == {"o0"}
            let_through.set()
            wait_until(lambda: events_of(r.taken("/bad"), "bad") == ["o0", "o1", "o2"], "the other callbacks, in order")


def test_concurrent_posts_stay_within_the_limit(tmp_path):
    lock, current, highest = threading.Lock(), [0], [0]
    gate = threading.Barrier(3)

    def answer(path, body):
        with lock:
            current[0] += 1
            highest[0] = max(highest[0], current[0])
        try:
            gate.wait(TIMEOUT_S)  # blocks until three posts are concurrent
        finally:
            with lock:
                current[0] -= 1
        return 200

    with Receiver(answer) as r, Daemon(tmp_path, hook(tmp_path, r.url(), concurrency=3, timeout_ms=60_000)) as daemon:
        clients = [daemon.client(f"r{i}", agents=["a", "b"]) for i in range(9)]
        for c in clients:
            orphan(c)
        r.wait_for(9)
        assert highest[0] == 3
        for c in clients:
            c.close()


# ---- restarts


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_waiting_callbacks_are_sent_after_a_restart(tmp_path, end):
    up = threading.Event()
    with Receiver(lambda *_: 200 if up.is_set() else 503) as r:
        daemon = Daemon(tmp_path, hook(tmp_path, r.url(), attempts=1000))
        with daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 5)
                wait_until(lambda: state(daemon)["failed"] >= 1, "a failure")
            assert daemon.kill() is None if end == "kill" else daemon.stop() == 0
        assert not r.taken()
        up.set()
        with daemon:
            assert events_of(r.wait_for(5), "r1") == [f"o{i}" for i in range(5)]
            wait_until(lambda: state(daemon)["waiting"] == 0, "the queue to be empty")
    assert len({b["id"] for b in r.taken()}) == 5


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_loses_no_callback_and_keeps_each_run_in_order(tmp_path, seed):
    runs, each = ["r1", "r2", "r3"], 40
    with Receiver() as r:
        daemon = Daemon(tmp_path, hook(tmp_path, r.url()))
        with daemon:
            clients = {run: daemon.client(run, agents=["a", "b"]) for run in runs}
            for i in range(each):
                for c in clients.values():
                    orphan(c, f"o{i}")
            for c in clients.values():
                c.wait_acked()
            r.wait_for(10 + 30 * seed)
            daemon.kill()
        with daemon:
            wait_until(lambda: len({b["id"] for b in r.taken()}) == each * len(runs), "all callbacks")
            wait_until(lambda: state(daemon)["waiting"] == 0, "the queue to be empty")
        for run in runs:
            first_seen = list(dict.fromkeys(events_of(r.taken(), run)))
            assert first_seen == [f"o{i}" for i in range(each)]
        # Only callbacks in flight, or not yet recorded as delivered, arrive twice.
        assert len(r.taken()) <= each * len(runs) + 4


def test_a_delivered_callback_that_webhooks_db_could_not_delete_is_not_sent_again(tmp_path):
    with Receiver() as r:
        daemon = Daemon(tmp_path, hook(tmp_path, r.url()))
        with daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 1)
                wait_until(lambda: state(daemon)["delivered"] == 1, "the delivery")
                with contextlib.closing(sqlite3.connect(daemon.data / "webhooks.db")) as db:
                    db.execute(
                        "CREATE TRIGGER refuse BEFORE DELETE ON callbacks BEGIN SELECT RAISE(ABORT, 'refused'); END"
                    )
                    orphans(c, 2, first=1)
                    wait_until(lambda: state(daemon)["delivered"] == 3, "the deliveries")
                    daemon.wait_logged("webhook_storage_error")
                    db.execute("DROP TRIGGER refuse")
                orphans(c, 1, first=3)
                wait_until(lambda: state(daemon)["delivered"] == 4, "the last delivery")
            daemon.kill()
        with daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1, first=4)
            assert events_of(r.wait_for(5), "r1") == [f"o{i}" for i in range(5)]


def test_a_callback_becomes_too_old_although_the_clock_is_set_back(tmp_path):
    with Receiver(lambda *_: 500) as r:
        daemon = DaemonWithSetClock(tmp_path)
        daemon.config.write_text(hook(tmp_path, r.url(), attempts=1000, max_age_ms=2000))
        with daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            wait_until(lambda: state(daemon)["failed"] >= 1, "a failure")
            daemon.steered.write_bytes(b"x" * 3600)
            wait_until(lambda: state(daemon)["dead"] == 1, "the dead letter")


def test_a_replaced_archive_is_noticed(tmp_path):
    with Receiver() as r:
        daemon = Daemon(tmp_path, hook(tmp_path, r.url()))
        with daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 3)
            before = {b["id"] for b in r.wait_for(3)}
            daemon.stop()
        for file in daemon.data.glob("digd.sqlite*"):
            file.unlink()
        with daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            assert r.wait_for(4)[3]["id"] not in before
            daemon.wait_logged("webhooks_restarted")


def test_a_damaged_webhooks_db_stops_the_start_and_is_kept(tmp_path):
    daemon = Daemon(tmp_path, hook(tmp_path, "http://127.0.0.1:9/"))
    daemon.data.mkdir()
    (daemon.data / "webhooks.db").write_text("not a database, and long enough to be looked at as one " * 20)
    done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 1 and "webhooks.db" in done.stderr and "move the file away" in done.stderr
    assert (daemon.data / "webhooks.db").read_text().startswith("not a database")


# ---- dead letters


def test_dead_letters_are_kept_paged_and_resent(tmp_path):
    up = threading.Event()
    with (
        Receiver(lambda *_: 200 if up.is_set() else 500) as r,
        Daemon(tmp_path, hook(tmp_path, r.url(), attempts=3, dead_letters=4)) as daemon,
    ):
        with daemon.client('r"<1>', place=False, agents=["a", "b"]) as c:
            orphans(c, 6)
            wait_until(lambda: state(daemon)["died"] == 6, "the dead letters")
            now = state(daemon)
            assert (now["dead"], now["dead_dropped"], now["waiting"], now["failed"], now["retried"]) == (
                4,
                2,
                0,
                18,
                12,
            )
            first = dead(daemon, query="?limit=3")
            rest = dead(daemon, query=f"?limit=3&cursor={first['next']}")
            assert (len(first["dead"]), len(rest["dead"]), rest["next"]) == (3, 1, None)
            letters = first["dead"] + rest["dead"]
            assert [l["id"].rsplit("-", 2)[1:] for l in letters] == [["detection", str(i)] for i in (3, 4, 5, 6)]
            for letter in letters:
                assert (letter["run"], letter["kind"], letter["rule"]) == ('r"<1>', "detection", "orphaned_event")
                assert (letter["attempts"], letter["why"]) == (3, "status 500")
            up.set()
            assert ask(daemon, "POST", "/v1/webhooks/pager/retry") == {"retried": 4, "dead": 0}
            assert [b["id"] for b in r.wait_for(4)] == [l["id"] for l in letters]
            assert dead(daemon) == {"webhook": "pager", "dead": [], "next": None}
            assert ask(daemon, "POST", "/v1/webhooks/pager/retry") == {"retried": 0, "dead": 0}
            daemon.wait_logged("webhook_dead")


def test_dead_letters_survive_a_kill(tmp_path):
    with Receiver(lambda *_: 500) as r:
        daemon = Daemon(tmp_path, hook(tmp_path, r.url(), attempts=1))
        with daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 2)
                wait_until(lambda: state(daemon)["dead"] == 2, "the dead letters")
            before = dead(daemon)
            daemon.kill()
        with daemon:
            assert dead(daemon) == before and state(daemon)["dead"] == 2
            assert ask(daemon, "GET", "/v1/webhooks/nobody/dead", 404)["error"]["code"] == "no_such_webhook"
            assert ask(daemon, "POST", "/v1/webhooks/nobody/retry", 404)["error"]["code"] == "no_such_webhook"
            assert ask(daemon, "GET", "/v1/webhooks/pager/dead?limit=0", 400)["error"]["code"] == "bad_parameter"
            ask(daemon, "GET", "/v1/webhooks/pager/retry", 405)


def test_callbacks_over_their_age_limit_are_not_sent(tmp_path):
    with (
        Receiver(lambda *_: 500) as r,
        Daemon(tmp_path, hook(tmp_path, r.url(), attempts=1000, max_age_ms=1000)) as daemon,
    ):
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 2)
            wait_until(lambda: state(daemon)["dead"] == 2, "the dead letters")
            letters = dead(daemon)["dead"]
            assert all(l["why"].startswith("older than max_age_ms; status 500") for l in letters)


def test_a_token_for_some_runs_sees_no_webhook_of_all_runs_and_cannot_resend(tmp_path):
    with Receiver(lambda *_: 500) as r, guarded(tmp_path, hook(tmp_path, r.url(), attempts=1)) as daemon:
        for run in ("prod-1", "other"):
            with ingest(daemon, TOKENS["all"][0], run=run) as ws:
                send_and_wait(ws, hello(run, agents=["a"]), until="welcome")
                send_and_wait(
                    ws,
                    {"type": "activation_started", "seq": 1, "activation": "v1", "agent": "a", "inputs": []},
                    {
                        "type": "activation_ended",
                        "seq": 2,
                        "activation": "v1",
                        "outputs": [{"id": "e", "recipients": ["x"]}],
                    },
                    seq=2,
                )

        def seen_by(name):
            status, text = status_of(daemon, "/v1/webhooks/pager/dead", TOKENS[name][0])
            assert status == 200, text
            return [letter["run"] for letter in json.loads(text)["dead"]]

        wait_until(lambda: seen_by("all") == ["prod-1", "other"], "the dead letters")
        assert status_of(daemon, "/v1/webhooks/pager/dead", TOKENS["watcher"][0])[0] == 404
        tries = {None: 401, "fleet": 403, "watcher": 403, "some": 403, "all": 200}
        for name, expected in tries.items():
            token = TOKENS[name][0] if name else None
            assert status_of(daemon, "/v1/webhooks/pager/retry", token, "POST", b"")[0] == expected, name
        assert status_of(daemon, "/v1/webhooks", TOKENS["fleet"][0])[0] == 403


# ---- deleted runs


def test_deleting_a_run_deletes_its_callbacks_and_dead_letters(tmp_path):
    with Receiver(lambda path, body: 500) as r:
        config = hook(tmp_path, r.url("/dead"), "dead", attempts=1) + hook(
            tmp_path, r.url("/slow"), "slow", attempts=1000
        )
        with Daemon(tmp_path, config) as daemon, daemon.client("kept", agents=["a", "b"]) as kept:
            gone = daemon.client("gone", agents=["a", "b"])
            orphans(gone, 5)
            orphans(kept, 1)
            wait_until(
                lambda: state(daemon, "dead")["dead"] == 6 and state(daemon, "slow")["waiting"] == 6,
                "all callbacks to be queued or dead",
            )
            ask(daemon, "DELETE", "/v1/runs/gone", 204)
            wait_until(
                lambda: state(daemon, "dead")["dead"] == 1 and state(daemon, "slow")["waiting"] == 1,
                "the deletion of the run",
            )
            assert [l["run"] for l in dead(daemon, "dead")["dead"]] == ["kept"]
            seen = len(r.posts)
            wait_until(lambda: len(r.posts) >= seen + 3, "attempts for the other run")
            assert {p["body"]["run"] for p in r.posts[seen + 1 :]} == {"kept"}
            gone.closed_with()


def test_webhooks_db_contains_no_text_of_agents(tmp_path):
    with Receiver(lambda *_: 500) as r, Daemon(tmp_path, hook(tmp_path, r.url(), attempts=2)) as daemon:
        with daemon.client("a-run-with-a-name", agents=["a", "b"]) as c:
            orphan(c, "an-event-with-a-name")
            c.wait_acked()
            wait_until(lambda: state(daemon)["dead"] == 1, "the dead letter")
            daemon.stop()
        stored = b"".join(f.read_bytes() for f in daemon.data.glob("webhooks.db*"))
        assert b"orphaned_event" in stored and b"a-name" not in stored
