"""A daemon with tokens, and requests with them."""

import hashlib
import json
import urllib.error
import urllib.request

from live import TIMEOUT_S, Daemon
from websockets.sync.client import connect

TOKENS = {  # name: (token, rights, more)
    "all": ("a" * 64, ["ingest", "watch", "read", "operate"], ""),
    "fleet": ("f" * 64, ["ingest"], 'runs = ["prod-"]'),
    "watcher": ("w" * 64, ["watch", "read"], 'runs = ["prod-"]'),
    "slow": ("s" * 64, ["ingest"], "rate = 100"),
    "some": ("o" * 64, ["operate"], 'runs = ["prod-"]'),
}


def entry(name, token, rights, more=""):
    return (
        f'[[token]]\nname = "{name}"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n'
        f"rights = {json.dumps(rights)}\n{more}\n"
    )


def guarded(folder, config="", names=TOKENS):
    tokens = folder / "tokens.toml"
    tokens.write_text("".join(entry(n, *TOKENS[n]) for n in names))
    return Daemon(folder, f'tokens = "{tokens}"\n{config}')


def status_of(daemon, path, token=None, method="GET", body=None, header="Authorization", scheme="Bearer "):
    request = urllib.request.Request(f"http://{daemon.address}{path}", method=method, data=body)
    if token is not None:
        request.add_header(header, scheme + token)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def ingest(daemon, token=None, run=None, subprotocols=("digd.v1",), path="/v1/ingest", **more):
    headers = {"Authorization": "Bearer " + token} if token else {}
    scheme = "wss" if "ssl" in more else "ws"
    return connect(
        f"{scheme}://{daemon.address}{path}" + (f"?run={run}" if run else ""),
        subprotocols=list(subprotocols),
        additional_headers=headers,
        compression=None,
        open_timeout=TIMEOUT_S,
        close_timeout=TIMEOUT_S,
        **more,
    )


def hello(run, **more):
    return json.dumps({"type": "hello", "protocol": 1, "run": run, "clock": "trace", **more})


def send_and_wait(ws, *messages, until="ack", seq=None):
    """Sends messages; returns the first frame of that type, and of that seq or later."""
    for message in messages:
        ws.send(message if isinstance(message, str) else json.dumps(message))
    while True:
        frame = json.loads(ws.recv(TIMEOUT_S))
        if frame["type"] == until and (seq is None or frame["seq"] >= seq):
            return frame


def event(seq, id, **more):
    return {"type": "event", "seq": seq, "event": {"id": id, "recipients": ["a"], **more}}
