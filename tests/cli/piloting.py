"""Runs for the tests of digctl pilot and of the canary, and requests about them."""

import hashlib
import json
from urllib.parse import quote

SHARE = 0.4  # of the shadow runs that the canary enforces


def asking(digctl, daemon):
    return lambda command, *args, **more: digctl(command, *args, "--to", daemon.address, **more)


def is_enforced(run, share=SHARE):
    """The formula of docs/pilot.md."""
    return int.from_bytes(hashlib.sha256(run.encode()).digest()[:8], "big") / 2**64 < share


def orphan(c, agent="critic", to="ghost", id="lost"):
    c.start("v" + id, agent, [])
    c.end("v" + id, [{"id": id, "recipients": [to]}])


def a_run(daemon, run, agent="critic", end="success", metrics=None, lost=("lost",), **hello):
    with daemon.client(run=run, place=False, agents=["critic", "writer"], **{"mode": "shadow", **hello}) as c:
        for id in lost:
            orphan(c, agent, id=id)
        if end:
            c.tell("run_ended", outcome=end, **({"metrics": metrics} if metrics else {}))
        c.wait_acked()
        return c.welcome


def request(daemon, method, path, body=None, token=None):
    text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {daemon.address}\r\nConnection: close\r\n"
        f"Content-Length: {len(text.encode())}\r\n"
    )
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    status, answer = daemon.http((head + "\r\n" + text).encode())
    body = answer.split("\r\n\r\n", 1)[1]
    return status, json.loads(body) if body else None


def detections(daemon, run):
    return request(daemon, "GET", f"/v1/runs/{quote(run, safe='')}/detections")[1]["detections"]


def pilot(daemon, since="1h"):
    status, answer = request(daemon, "GET", f"/v1/pilot?since={since}")
    assert status == 200, answer
    return answer
