"""Helpers that watch a running digd: requests, metrics, the feed; and messages for them to see."""

import http.client
import json
from urllib.parse import quote

from websockets.sync.client import connect

from live import TIMEOUT_S, drop

NASTY = 'r"<script>&\\ \n\u202e]]>/../x'


def ask(daemon, method, path, body=None, headers=None):
    host, port = daemon.address.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
    try:
        c.request(method, path, body, headers or {})
        answer = c.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        c.close()


def get(daemon, path, status=200):
    got, body, headers = ask(daemon, "GET", path)
    assert got == status, (path, got, body)
    return json.loads(body) if "json" in headers["Content-Type"] else body.decode()


def run_path(run, *rest):
    return "/".join(["/v1/runs", quote(run, safe=""), *rest])


def metric(daemon, name):
    """The value of a sample, named with its labels as printed; 0 if there is none."""
    for line in get(daemon, "/metrics").splitlines():
        if line.startswith(name + " "):
            return float(line.rsplit(" ", 1)[1])
    return 0


def work(c, n=1, first=1, payload="a secret"):
    """Sends a root event that an agent consumes and answers with another event, n times."""
    for i in range(first, first + n):
        c.event(f"e{i}", ["a"], event={"payload": {"text": payload}})
        c.start(f"v{i}", "a", [f"e{i}"])
        c.end(f"v{i}", [{"id": f"o{i}", "recipients": ["b"], "payload": [payload]}])


def orphan(c, id="lost"):
    """Sends an event to an unknown agent: `orphaned_event` fires at once."""
    c.start("v" + id, "a", [])
    return c.end("v" + id, [{"id": id, "recipients": ["ghost"]}])


class Feed:
    def __init__(self, daemon, query="", **options):
        options = {"subprotocols": ["digd.feed.v1"], "compression": None, "open_timeout": TIMEOUT_S, "max_size": None,
                   **options}
        self.ws = connect(f"ws://{daemon.address}/v1/feed{query}", **options)

    def take(self, n):
        return [json.loads(self.ws.recv(timeout=TIMEOUT_S)) for _ in range(n)]

    def until(self, found):
        """Returns the frames up to the first that matches, and the rest of its archive entry."""
        frames = []
        while True:
            frames += self.take(1)
            if found(frames[-1]):
                while not frames[-1].get("last"):
                    frames += self.take(1)
                return frames

    def close(self):
        self.ws.close()

    def drop(self):
        drop(self.ws)
