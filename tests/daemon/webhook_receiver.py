"""A receiver of webhook posts, and helpers of the webhook tests."""

import http.client
import json
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from live import TIMEOUT_S, wait_until

SECRET = "a-secret-of-more-than-16-bytes"
WALL = dict(clock="wall", rules={"deadlock": {"window_ms": 30, "max_attempts": 1}})


class Receiver:
    """Receives posts; `answer(path, body)` returns the status, or (status, headers)."""

    def __init__(self, answer=lambda path, body: 200, tls=None, bound=None):
        self.answer, self.posts, self.lock = answer, [], threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                body = json.loads(raw)
                with receiver.lock:
                    receiver.posts.append({"path": self.path, "body": body, "raw": raw, "headers": dict(self.headers)})
                reply = receiver.answer(self.path, body)
                status, headers = reply if isinstance(reply, tuple) else (reply, {})
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
                pass  # the client closed the connection

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
        """The bodies that the receiver answered with 2xx, in order."""
        with self.lock:
            return [b for p, b, status in self.answered if status < 300 and path in (None, p)]

    def wait_for(self, n, path=None):
        return wait_until(
            lambda: len(got := self.taken(path)) >= n and got, f"{n} callbacks; got {len(self.taken(path))}"
        )


def toml(value):
    return json.dumps(value)


def hook(folder, url, name="pager", **options):
    """A [[webhook]] section whose secret is in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    secret = folder / "secret"
    if not secret.exists():
        secret.write_text(SECRET + "\n")
    fields = {"name": name, "url": url, "secret_file": str(secret), "retry_ms": 10, "retry_most_ms": 50, **options}
    return "[[webhook]]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in fields.items() if v is not None)


def reload(daemon, config, word):
    """Reloads digd with `config`, and waits until it has logged `word` once more."""
    before = daemon.log_text().count(word)
    daemon.config.write_text(config)
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.log_text().count(word) > before, word)


def ask(daemon, method, path, status=200):
    host, port = daemon.address.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
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


def orphan(c, id="lost", payload=None):
    """Sends an event to an unknown agent: one `orphaned_event` detection and no intervention."""
    c.start("v" + id, "a", [])
    return c.end("v" + id, [{"id": id, "recipients": ["ghost"], "payload": payload}])


def orphans(c, n, first=0):
    for i in range(first, first + n):
        orphan(c, f"o{i}")
    c.wait_acked()


def stuck(c):
    """Causes a deadlock: one detection and one intervention."""
    c.event("e1", ["a"], ts=0)
    c.tell("time", ts=15_000)
    return c.wait_for("intervention")


def events_of(bodies, run):
    return [b["detection"]["event"] for b in bodies if b["run"] == run and "detection" in b]
