"""Webhooks of a running digd, with real receivers: what they are sent, in which order, and what no failure loses."""

import hashlib
import hmac
import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from access_test import TOKENS, guarded, hello, ingest, status_of, told
from live import DIGD, WITHIN, Daemon, wait_until

DOCS = Path(__file__).parents[2] / "docs/webhooks.md"
SECRET = "a-secret-of-more-than-16-bytes"
WALL = dict(clock="wall", rules={"deadlock": {"window_ms": 30, "max_attempts": 1}})


class Receiver:
    """Takes posts; `answer(path, body)` says with what status, or a (status, headers)."""

    def __init__(self, answer=lambda path, body: 200, tls=None, bound=None):
        self.answer, self.posts, self.lock = answer, [], threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                body = json.loads(raw)
                with receiver.lock:
                    receiver.posts.append({"path": self.path, "body": body, "raw": raw, "headers": dict(self.headers)})
                said = receiver.answer(self.path, body)
                status, headers = said if isinstance(said, tuple) else (said, {})
                with receiver.lock:
                    receiver.posts[-1].setdefault("status", status)
                    receiver.answered.append((self.path, body, status))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # a client that went away

        self.answered = []
        self.server = Server(("127.0.0.1", 0), Handler, bind_and_activate=bound is None)
        if bound is not None:
            self.server.socket.close()
            self.server.socket = bound
            self.server.server_address = bound.getsockname()
            self.server.server_activate()
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path="/hook", scheme="http", host="127.0.0.1"):
        return f"{scheme}://{host}:{self.port}{path}"

    def taken(self, path=None):
        """The bodies that were answered with 2xx, in order."""
        with self.lock:
            return [b for p, b, status in self.answered if status < 300 and path in (None, p)]

    def wait_for(self, n, path=None):
        return wait_until(lambda: len(got := self.taken(path)) >= n and got, f"{n} callbacks; got {len(self.taken(path))}")


def toml(value):
    return json.dumps(value)


def hook(folder, url, name="pager", **options):
    """A [[webhook]]; its secret lies in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    secret = folder / "secret"
    if not secret.exists():
        secret.write_text(SECRET + "\n")
    fields = {"name": name, "url": url, "secret_file": str(secret), "retry_ms": 10, "retry_most_ms": 50, **options}
    return "[[webhook]]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in fields.items() if v is not None)


def ask(daemon, method, path, status=200):
    host, port = daemon.address.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=WITHIN)
    try:
        c.request(method, path)
        answer = c.getresponse()
        body = answer.read()
        assert answer.status == status, (path, answer.status, body)
        return json.loads(body) if "json" in answer.getheader("Content-Type", "") else body.decode()
    finally:
        c.close()


def state(daemon, name="pager"):
    return next(w for w in ask(daemon, "GET", "/v1/webhooks")["webhooks"] if w["name"] == name)


def dead(daemon, name="pager", query=""):
    return ask(daemon, "GET", f"/v1/webhooks/{name}/dead{query}")


def orphan(c, id="lost"):
    """An event to nobody there: one detection, `orphaned_event`, and no intervention."""
    c.start("v" + id, "a", [])
    return c.end("v" + id, [{"id": id, "recipients": ["ghost"]}])


def orphans(c, n, first=0):
    for i in range(first, first + n):
        orphan(c, f"o{i}")
    c.wait_acked()


def stuck(c):
    """A deadlock: one detection and one intervention."""
    c.event("e1", ["a"], ts=0)
    c.tell("time", ts=15_000)
    return c.wait_for("intervention")


def events_of(bodies, run):
    return [b["detection"]["event"] for b in bodies if b["run"] == run and "detection" in b]


# ---- what is sent


def test_an_intervention_and_its_detection_are_posted_and_signed(tmp_path):
    with Receiver() as r, Daemon(tmp_path, hook(tmp_path, r.url("/a/b?c=d"))) as daemon:
        with daemon.client(agents=["a", "b"], witness=True) as c:
            sent = stuck(c)
            found, made = r.wait_for(2)
        assert (found["run"], found["detection"]["rule"]) == ("r1", "deadlock")
        assert found["detection"]["reason"] and "witness" in found["detection"]
        assert made["run"] == "r1" and made["intervention"] == sent
        assert set(made) == {"id", "run", "intervention"} and set(found) == {"id", "run", "detection"}
        assert made["id"].endswith("-intervention-1") and found["id"].endswith("-detection-1")
        documented = {}
        exec(re.search("```python\n(.*?)```", DOCS.read_text(), re.S)[1], documented)
        for post in r.posts:
            headers = post["headers"]
            assert documented["is_from_digd"](SECRET.encode(), headers, post["raw"])
            assert not documented["is_from_digd"](SECRET.encode(), headers, post["raw"] + b" ")
            assert post["path"] == "/a/b?c=d" and headers["Content-Type"] == "application/json"
            assert headers["Host"] == f"127.0.0.1:{r.port}"
            signed = headers["Digd-Timestamp"].encode() + b"." + post["raw"]
            expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
            assert headers["Digd-Signature"] == "v1=" + expected


def test_a_system_without_an_open_socket_is_healed_too(tmp_path):
    with Receiver() as r, Daemon(tmp_path, hook(tmp_path, r.url(), send=["interventions"])) as daemon:
        c = daemon.client(agents=["a", "b"], clock="wall", rules={"deadlock": {"window_ms": 300}})
        c.event("e1", ["a"])
        c.wait_acked()
        c.close()
        made = r.wait_for(1)[0]["intervention"]
        assert (made["id"], made["action"]) == ("sys:1", "create") and made["inject"]
        with daemon.client(agents=["a", "b"], clock="wall") as again:  # who comes back is told as well
            assert again.wait_for("intervention")["id"] == "sys:1"


def test_filters_by_kind_rule_severity_and_label(tmp_path):
    with Receiver() as r:
        config = (hook(tmp_path, r.url("/all"), "all") + hook(tmp_path, r.url("/made"), "made", send=["interventions"]) +
                  hook(tmp_path, r.url("/rule"), "rule", rules=["orphaned_event"]) +
                  hook(tmp_path, r.url("/severity"), "severity", severities=["warning"]) +
                  hook(tmp_path, r.url("/label"), "label", labels=["team=search", "tier=1"]))
        with Daemon(tmp_path, config) as daemon:
            with daemon.client("plain", agents=["a", "b"]) as c:
                orphan(c)
                stuck(c)
                c.wait_acked()
            with daemon.client("labelled", agents=["a", "b"], labels={"team": "search", "tier": 1, "more": "x"}) as c:
                orphan(c)
                c.wait_acked()
            with daemon.client("half", agents=["a", "b"], labels={"team": "search"}) as c:
                orphan(c)
                c.wait_acked()
            everything = r.wait_for(5, "/all")
            wait_until(lambda: all(w["unread"] == w["waiting"] == 0 for w in
                                   ask(daemon, "GET", "/v1/webhooks")["webhooks"]), "all to be done")
            kinds = lambda path: sorted((b["run"], "intervention" if "intervention" in b else b["detection"]["rule"])
                                        for b in r.taken(path))
            assert len(everything) == 5
            assert kinds("/made") == [("plain", "intervention")]
            assert kinds("/rule") == [(run, "orphaned_event") for run in ("half", "labelled", "plain")]
            assert kinds("/severity") == []
            assert kinds("/label") == [("labelled", "orphaned_event")]


def test_a_webhook_begins_with_what_comes_after_it(tmp_path):
    with Receiver() as r:
        with Daemon(tmp_path) as daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 2)
            assert not (daemon.data / "webhooks.db").exists()
            assert ask(daemon, "GET", "/v1/webhooks") == {"webhooks": []}
            daemon.stop()
        with Daemon(tmp_path, hook(tmp_path, r.url())) as daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1, first=2)
            assert events_of(r.wait_for(1), "r1") == ["o2"]


# ---- failures


@pytest.mark.parametrize("failure", ["status", "redirect", "timeout", "hang up"])
def test_what_fails_is_tried_again_with_the_same_id(tmp_path, failure):
    released, times = threading.Event(), []

    def answer(path, body):
        times.append(body["id"])
        if len(times) > 2:
            return 204
        if failure == "timeout":
            released.wait(WITHIN)
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
        words = {"status": "status 500", "redirect": "status 302", "timeout": "no answer within 200 ms",
                 "hang up": "no answer: "}[failure]
        assert f"webhook_failed name=\"pager\"" in daemon.log_text() and words in daemon.log_text()
        stamps = [int(p["headers"]["Digd-Timestamp"]) for p in r.posts]
        assert stamps == sorted(stamps)


@pytest.mark.parametrize("answer, delivered", [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 300_000, True),  # more than is read
    (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx", True),                      # less than was promised
    (b"HTTP/1.0 200 \r\n\r\n", True),
    (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", False),
    (b"SSH-2.0-not HTTP at all\r\n" * 100, False),
    (b"", False),
])
def test_whatever_is_answered_is_bounded(tmp_path, answer, delivered):
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(WITHIN)

    def serve():
        taken, _ = listening.accept()
        with taken:
            taken.settimeout(WITHIN)
            taken.recv(65536)
            try:
                taken.sendall(answer)
            except OSError:
                pass  # it does not read all of it

    server = threading.Thread(target=serve)
    server.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    with Daemon(tmp_path, hook(tmp_path, url, attempts=1)) as daemon:
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            now = wait_until(lambda: (s := state(daemon))["delivered"] + s["dead"] == 1 and s, "the end of it")
        assert now["delivered"] == delivered
        assert delivered or dead(daemon)["dead"][0]["why"].startswith("no answer: ")
    server.join()
    listening.close()


def test_a_receiver_that_is_down_is_waited_for(tmp_path):
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))  # and does not listen: connections are refused
    url = f"http://127.0.0.1:{closed.getsockname()[1]}/hook"
    with Daemon(tmp_path, hook(tmp_path, url, attempts=1000)) as daemon, daemon.client(agents=["a", "b"]) as c:
        orphans(c, 3)
        failing = wait_until(lambda: (s := state(daemon))["failed"] >= 2 and s, "failures")
        assert failing["state"] == "failing" and "Connection refused" in failing["last_failure"]
        assert (failing["waiting"], failing["retrying"]) == (3, 1)
        assert ask(daemon, "GET", "/readyz")["ready"]
        with Receiver(bound=closed) as r:
            assert events_of(r.wait_for(3), "r1") == ["o0", "o1", "o2"]


def test_a_run_waits_for_its_own_callback_and_holds_up_no_other(tmp_path):
    let_through = threading.Event()
    bad = lambda path, body: path == "/bad" and body["run"] == "bad" and not let_through.is_set()
    with Receiver(lambda path, body: 500 if bad(path, body) else 200) as r:
        config = (hook(tmp_path, r.url("/bad"), "one", attempts=1000, concurrency=1) + hook(tmp_path, r.url("/good"), "two"))
        with Daemon(tmp_path, config) as daemon, daemon.client("bad", agents=["a", "b"]) as one, \
                daemon.client("good", agents=["a", "b"]) as two:
            orphans(one, 3)
            wait_until(lambda: state(daemon, "one")["failed"] >= 2, "failures")
            orphans(two, 20)
            r.wait_for(20, "/bad")
            r.wait_for(23, "/good")
            assert events_of(r.taken("/bad"), "good") == [f"o{i}" for i in range(20)]
            assert {p["body"]["detection"]["event"] for p in r.posts if p["path"] == "/bad" and p["body"]["run"] == "bad"} == {"o0"}
            let_through.set()
            wait_until(lambda: events_of(r.taken("/bad"), "bad") == ["o0", "o1", "o2"], "the others, in order")


def test_no_more_posts_are_under_way_than_configured(tmp_path):
    lock, now, most = threading.Lock(), [0], [0]
    gate = threading.Barrier(3)

    def answer(path, body):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        try:
            gate.wait(WITHIN)  # three at once, or none goes on
        finally:
            with lock:
                now[0] -= 1
        return 200

    with Receiver(answer) as r, Daemon(tmp_path, hook(tmp_path, r.url(), concurrency=3, timeout_ms=60_000)) as daemon:
        clients = [daemon.client(f"r{i}", agents=["a", "b"]) for i in range(9)]
        for c in clients:
            orphan(c)
        r.wait_for(9)
        assert most[0] == 3
        for c in clients:
            c.close()


# ---- restarts


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_waits_is_sent_after_a_restart(tmp_path, end):
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
            wait_until(lambda: state(daemon)["waiting"] == 0, "nothing to wait")
    assert len({b["id"] for b in r.taken()}) == 5


@pytest.mark.parametrize("seed", range(3))
def test_killed_in_the_middle_nothing_is_lost_and_each_run_stays_in_order(tmp_path, seed):
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
            wait_until(lambda: len({b["id"] for b in r.taken()}) == each * len(runs), "all of them")
            wait_until(lambda: state(daemon)["waiting"] == 0, "nothing to wait")
        for run in runs:
            first_seen = list(dict.fromkeys(events_of(r.taken(), run)))
            assert first_seen == [f"o{i}" for i in range(each)]
        # Only what was under way, or about to be written off, comes twice.
        assert len(r.taken()) <= each * len(runs) + 4


def test_another_archive_is_noticed(tmp_path):
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
            assert "webhooks_begin_anew" in daemon.log_text()


def test_a_damaged_webhooks_db_is_told_and_left_alone(tmp_path):
    daemon = Daemon(tmp_path, hook(tmp_path, "http://127.0.0.1:9/"))
    daemon.data.mkdir()
    (daemon.data / "webhooks.db").write_text("not a database, and long enough to be looked at as one " * 20)
    done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=WITHIN)
    assert done.returncode == 1 and "webhooks.db" in done.stderr and "moved away" in done.stderr
    assert (daemon.data / "webhooks.db").read_text().startswith("not a database")


# ---- dead letters


def test_dead_letters_are_kept_listed_in_pages_and_sent_again(tmp_path):
    up = threading.Event()
    with Receiver(lambda *_: 200 if up.is_set() else 500) as r, \
            Daemon(tmp_path, hook(tmp_path, r.url(), attempts=3, dead_letters=4)) as daemon:
        with daemon.client('r"<1>', place=False, agents=["a", "b"]) as c:
            orphans(c, 6)
            wait_until(lambda: state(daemon)["died"] == 6, "the deaths")
            now = state(daemon)
            assert (now["dead"], now["dead_dropped"], now["waiting"], now["failed"], now["retried"]) == (4, 2, 0, 18, 12)
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
        assert "webhook_dead" in daemon.log_text()


def test_dead_letters_survive_a_kill(tmp_path):
    with Receiver(lambda *_: 500) as r:
        daemon = Daemon(tmp_path, hook(tmp_path, r.url(), attempts=1))
        with daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 2)
                wait_until(lambda: state(daemon)["dead"] == 2, "the deaths")
            before = dead(daemon)
            daemon.kill()
        with daemon:
            assert dead(daemon) == before and state(daemon)["dead"] == 2
            assert ask(daemon, "GET", "/v1/webhooks/nobody/dead", 404)["error"]["code"] == "no_such_webhook"
            assert ask(daemon, "POST", "/v1/webhooks/nobody/retry", 404)["error"]["code"] == "no_such_webhook"
            assert ask(daemon, "GET", "/v1/webhooks/pager/dead?limit=0", 400)["error"]["code"] == "bad_parameter"
            ask(daemon, "GET", "/v1/webhooks/pager/retry", 405)


def test_what_is_too_old_is_not_sent_any_more(tmp_path):
    with Receiver(lambda *_: 500) as r, \
            Daemon(tmp_path, hook(tmp_path, r.url(), attempts=1000, max_age_ms=1000)) as daemon:
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 2)
            wait_until(lambda: state(daemon)["dead"] == 2, "the deaths")
            letters = dead(daemon)["dead"]
            assert all(l["why"].startswith("older than max_age_ms; status 500") for l in letters)


def test_a_token_of_some_runs_sees_their_dead_letters_alone_and_sends_none_again(tmp_path):
    with Receiver(lambda *_: 500) as r, guarded(tmp_path, hook(tmp_path, r.url(), attempts=1)) as daemon:
        for run in ("prod-1", "other"):
            with ingest(daemon, TOKENS["all"][0], run=run) as ws:
                told(ws, hello(run, agents=["a"]), until="welcome")
                told(ws, {"type": "activation_started", "seq": 1, "activation": "v1", "agent": "a", "inputs": []},
                     {"type": "activation_ended", "seq": 2, "activation": "v1", "outputs": [{"id": "e", "recipients": ["x"]}]},
                     seq=2)

        def seen_by(name):
            status, text = status_of(daemon, "/v1/webhooks/pager/dead", TOKENS[name][0])
            assert status == 200, text
            return [letter["run"] for letter in json.loads(text)["dead"]]

        wait_until(lambda: seen_by("all") == ["prod-1", "other"], "the deaths")
        assert seen_by("watcher") == ["prod-1"]
        tries = {None: 401, "fleet": 403, "watcher": 403, "some": 403, "all": 200}
        for name, expected in tries.items():
            token = TOKENS[name][0] if name else None
            assert status_of(daemon, "/v1/webhooks/pager/retry", token, "POST", b"")[0] == expected, name
        assert status_of(daemon, "/v1/webhooks", TOKENS["fleet"][0])[0] == 403


# ---- deleted runs


def test_a_deleted_run_takes_its_callbacks_and_dead_letters_with_it(tmp_path):
    with Receiver(lambda path, body: 500) as r:
        config = hook(tmp_path, r.url("/dead"), "dead", attempts=1) + hook(tmp_path, r.url("/slow"), "slow", attempts=1000)
        with Daemon(tmp_path, config) as daemon, daemon.client("kept", agents=["a", "b"]) as kept:
            gone = daemon.client("gone", agents=["a", "b"])
            orphans(gone, 5)
            orphans(kept, 1)
            wait_until(lambda: state(daemon, "dead")["dead"] == 6 and state(daemon, "slow")["waiting"] == 6, "all to be there")
            ask(daemon, "DELETE", "/v1/runs/gone", 204)
            wait_until(lambda: state(daemon, "dead")["dead"] == 1 and state(daemon, "slow")["waiting"] == 1, "the run to go")
            assert [l["run"] for l in dead(daemon, "dead")["dead"]] == ["kept"]
            seen = len(r.posts)
            wait_until(lambda: len(r.posts) >= seen + 3, "attempts for the other")
            assert {p["body"]["run"] for p in r.posts[seen + 1:]} == {"kept"}
            gone.closed_with()


def test_webhooks_db_holds_no_text_of_agents(tmp_path):
    with Receiver(lambda *_: 500) as r, Daemon(tmp_path, hook(tmp_path, r.url(), attempts=2)) as daemon:
        with daemon.client("a-run-with-a-name", agents=["a", "b"]) as c:
            orphan(c, "an-event-with-a-name")
            c.wait_acked()
            wait_until(lambda: state(daemon)["dead"] == 1, "the death")
            daemon.stop()
        stored = b"".join(f.read_bytes() for f in daemon.data.glob("webhooks.db*"))
        assert b"orphaned_event" in stored and b"a-name" not in stored


# ---- Slack


def test_no_name_breaks_out_of_a_text_for_slack(tmp_path):
    nasty = "<!channel>`*x*`<https://evil.example|y>@here&\n\u202e"
    with Receiver() as r, Daemon(tmp_path, hook(tmp_path, r.url(), format="slack", secret_file=None)) as daemon:
        with daemon.client(nasty, place=False, agents=["a", "b", nasty]) as c:
            c.event("e1" + nasty, [nasty], ts=0)
            c.tell("time", ts=15_000)
            c.wait_for("intervention")
            texts = [b["text"] for b in r.wait_for(2)]
        for post in r.posts:
            assert set(post["body"]) == {"text"} and "Digd-Signature" not in post["headers"]
        for text in texts:
            assert "deadlock" in text
            assert "<" not in text and ">" not in text and "\u202e" not in text
            outside = "".join(text.split("`")[::2])
            for word in ("evil", "channel", "here", "x", "@", "&"):
                assert word not in outside
            for live in ("://", "@here", "evil.example"):
                assert live not in text


# ---- TLS


def openssl(folder, *args):
    subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """ca.pem signed good.pem (for localhost) and named.pem (for another name)."""
    folder = tmp_path_factory.mktemp("certificates")
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=a CA for tests")
    for name, host in (("good", "localhost"), ("named", "elsewhere.example")):
        openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={host}")
        (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{host}\n")
        openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")
    return folder


def server_tls(certificates, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    return context


def test_a_receiver_with_a_good_certificate_is_told(tmp_path, certificates):
    with Receiver(tls=server_tls(certificates, "good")) as r:
        url = r.url(scheme="https", host="localhost")
        with Daemon(tmp_path, hook(tmp_path, url, ca_file=str(certificates / "ca.pem"))) as daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 2)
                assert events_of(r.wait_for(2), "r1") == ["o0", "o1"]


@pytest.mark.parametrize("name, ca", [("named", "ca.pem"), ("good", None)])
def test_a_receiver_with_a_bad_certificate_is_told_nothing(tmp_path, certificates, name, ca):
    with Receiver(tls=server_tls(certificates, name)) as r:
        url = r.url(scheme="https", host="localhost")
        ca_file = str(certificates / ca) if ca else None
        with Daemon(tmp_path, hook(tmp_path, url, ca_file=ca_file, attempts=2)) as daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 1)
                wait_until(lambda: state(daemon)["dead"] == 1, "the death")
            assert dead(daemon)["dead"][0]["why"].startswith("TLS")
        assert not r.posts


# ---- nothing secret is told


def test_secrets_are_shown_nowhere(tmp_path):
    path = "/services/T0/B0/a-path-that-is-a-secret"
    with Receiver(lambda *_: 500) as r:
        config = hook(tmp_path, r.url(path), attempts=2) + hook(tmp_path, "http://receiver.example" + path, "far")
        (tmp_path / "check").mkdir()
        (tmp_path / "check/digd.toml").write_text(config)
        check = subprocess.run([DIGD, "--config", str(tmp_path / "check/digd.toml"), "--data-dir", str(tmp_path),
                                "--check-config"], capture_output=True, text=True, timeout=WITHIN)
        assert check.returncode == 0 and 'warning: the webhook "far" goes to' in check.stderr
        assert f'url = "http://127.0.0.1:{r.port}/…"' in check.stdout
        with Daemon(tmp_path, '[log]\nlevel = "debug"\n' + hook(tmp_path, r.url(path), attempts=2)) as daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphan(c, "payload-like-text")
                c.wait_acked()
                wait_until(lambda: state(daemon)["dead"] == 1, "the death")
            daemon.config.write_text(hook(tmp_path, r.url(path), attempts=3))
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "reloaded" in daemon.log_text(), "the reload")
            told = [check.stdout, check.stderr, daemon.log_text(), json.dumps(ask(daemon, "GET", "/v1/webhooks")),
                    json.dumps(dead(daemon)), ask(daemon, "GET", "/metrics")]
        for text in told:
            assert SECRET not in text and "a-path-that-is-a-secret" not in text
        assert "payload-like-text" not in daemon.log_text()
        assert r.posts and all(SECRET.encode() not in p["raw"] for p in r.posts)


# ---- reload, metrics, stopping


def reload(daemon, config, word):
    said = daemon.log_text().count(word)
    daemon.config.write_text(config)
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.log_text().count(word) > said, word)


def test_a_reload_adds_changes_and_removes(tmp_path):
    with Receiver(lambda path, body: 500 if path == "/broken" else 200) as r, Daemon(tmp_path) as daemon:
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            reload(daemon, hook(tmp_path, r.url("/broken"), attempts=1000), "reloaded")
            orphans(c, 2, first=1)
            wait_until(lambda: state(daemon)["failed"] >= 1, "a failure")
            reload(daemon, hook(tmp_path, r.url("/mended")), "reloaded")  # keeps what waits
            assert events_of(r.wait_for(2, "/mended"), "r1") == ["o1", "o2"]
            # What cannot be set up changes nothing.
            reload(daemon, hook(tmp_path, r.url("/x"), secret_file=str(tmp_path / "none")), "reload_refused")
            reload(daemon, hook(tmp_path, "https://localhost/", ca_file=str(tmp_path / "none")), "reload_refused")
            orphans(c, 1, first=3)
            assert events_of(r.wait_for(3, "/mended"), "r1") == ["o1", "o2", "o3"]
            reload(daemon, "", "reloaded")
            assert ask(daemon, "GET", "/v1/webhooks") == {"webhooks": []}
            orphans(c, 1, first=4)
            reload(daemon, hook(tmp_path, r.url("/mended")), "reloaded")  # begins anew
            orphans(c, 1, first=5)
            assert events_of(r.wait_for(4, "/mended"), "r1")[3] == "o5"
        assert "webhook.pager: added" in daemon.log_text() and "webhook_forgotten" in daemon.log_text()


def test_a_secret_that_is_missing_stops_the_start(tmp_path):
    daemon = Daemon(tmp_path, hook(tmp_path, "http://127.0.0.1:9/", secret_file=str(tmp_path / "none")))
    done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=WITHIN)
    assert done.returncode == 1 and 'the webhook "pager" cannot be set up' in done.stderr


def test_a_secret_may_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DIGD_PAGER__SECRET", SECRET)
    with Receiver() as r:
        config = hook(tmp_path, r.url(), secret_file=None, secret_env="DIGD_PAGER__SECRET")
        with Daemon(tmp_path, config) as daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            r.wait_for(1)
            post = r.posts[0]
            signed = post["headers"]["Digd-Timestamp"].encode() + b"." + post["raw"]
            assert post["headers"]["Digd-Signature"] == "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()


def test_metrics_tell_each_webhook_and_no_run(tmp_path):
    with Receiver(lambda path, body: 200 if path == "/good" else 500) as r:
        config = hook(tmp_path, r.url("/good"), "good") + hook(tmp_path, r.url("/bad"), "bad", attempts=3)
        with Daemon(tmp_path, config) as daemon, daemon.client("visible-run", agents=["a", "b"]) as c:
            orphans(c, 2)
            wait_until(lambda: state(daemon, "bad")["dead"] == 2 and state(daemon, "good")["delivered"] == 2, "both")
            text = ask(daemon, "GET", "/metrics")
        assert "visible" not in text
        samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("digd_webhook"))
        expected = {"posted_total": (2, 0), "failed_total": (0, 6), "retried_total": (0, 4), "died_total": (0, 2),
                    "dead_letters": (0, 2), "waiting": (0, 0), "under_way": (0, 0), "unread": (0, 0),
                    "dead_dropped_total": (0, 0)}
        for name, (good, bad) in expected.items():
            assert samples[f'digd_webhook_{name}{{webhook="good"}}'] == str(good), name
            assert samples[f'digd_webhook_{name}{{webhook="bad"}}'] == str(bad), name


def test_a_receiver_that_never_answers_delays_neither_verdicts_nor_the_stop(tmp_path):
    released = threading.Event()
    with Receiver(lambda *_: released.wait(WITHIN) and 200) as r, \
            Daemon(tmp_path, hook(tmp_path, r.url(), timeout_ms=120_000)) as daemon:
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 50)
            assert c.verdicts(2)[0]["action"] == "reroute"
            wait_until(lambda: state(daemon)["under_way"] == 1, "a post under way")
            assert ask(daemon, "GET", "/readyz")["ready"]
        assert daemon.stop() == 0
        released.set()


def test_without_an_archive_there_are_no_webhooks(tmp_path):
    with Daemon(tmp_path, "archive = false\n") as daemon:
        for method, path in (("GET", "/v1/webhooks"), ("GET", "/v1/webhooks/a/dead"), ("POST", "/v1/webhooks/a/retry")):
            assert ask(daemon, method, path, 503)["error"]["code"] == "archive_off"
