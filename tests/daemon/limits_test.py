"""Hits every limit of docs/limits.md on a running digd and checks its policy and its counter.

A row of that table without a test here fails, and so does a test without a row. The effect of a limit on a run
replays exactly and survives a kill.
"""

import json
import re
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from live import DIGCTL, DIGD, TIMEOUT_S, Client, Daemon, wait_until
from watching import Feed, ask, get, metric, work
from websockets.exceptions import InvalidStatus

ROOT = Path(__file__).parents[2]


def table():
    """{limit: its row} of the first table of docs/limits.md."""
    text = (ROOT / "docs/limits.md").read_text()
    rows = {}
    for line in text.split("| limit |", 1)[1].splitlines()[2:]:
        if not line.startswith("|"):
            break
        limit, default, unit, counter, policies, beyond = (cell.strip() for cell in line.strip("|").split("|"))
        rows[limit.strip("`")] = {"default": default, "counter": counter.strip("`"), "policies": policies.split(", ")}
    return rows


TABLE = table()
TOKEN_LIMITS = {"rate": 20, "byte_rate": 1000, "max_connections": 1, "max_runs": 1}
TOKENS = 'tokens = "{folder}/tokens.toml"\n'  # one token, with the limit that is tested
FORCED = {}


def forces(*limits, config=""):
    """Marks a function that hits these limits on a daemon with that configuration."""

    def mark(hit):
        for limit in limits:
            FORCED[limit] = (hit, config)
        return hit

    return mark


def toml(limit, value):
    section, _, key = limit.rpartition(".")
    return (f"[{section}]\n" if section else "") + f"{key} = {value}\n"


def refused(c, limit, code="over_limit"):
    assert c.error(c.seq)["code"] == code, limit


# ---- a function for each limit: hits it, and checks what the client sees with the default policy


@forces("limits.message_bytes", config=toml("limits.message_bytes", 2000))
def hit_message_bytes(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"], event={"payload": "x" * 3000})
        refused(c, "message_bytes", "too_large")


@forces("limits.agents", config=toml("limits.agents", 2))
def hit_agents(daemon):
    with daemon.client() as c:
        c.event("e1", ["a", "b", "c"])
        refused(c, "agents")


@forces("limits.recipients", config=toml("limits.recipients", 2))
def hit_recipients(daemon):
    with daemon.client() as c:
        c.event("e1", ["a", "b", "c"])
        refused(c, "recipients")


@forces("limits.inputs", config=toml("limits.inputs", 2))
def hit_inputs(daemon):
    with daemon.client() as c:
        c.start("v1", "a", ["e1", "e2", "e3"])
        refused(c, "inputs")


@forces("limits.live_events", config=toml("limits.live_events", 1))
def hit_live_events(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"])
        c.event("e2", ["a"])
        refused(c, "live_events")


@forces("limits.open_activations", config=toml("limits.open_activations", 1))
def hit_open_activations(daemon):
    with daemon.client() as c:
        c.start("v1", "a")
        c.start("v2", "a")
        refused(c, "open_activations")


@forces("limits.sessions", config=toml("limits.sessions", 1))
def hit_sessions(daemon):
    with daemon.client(), Client(daemon, session="second", greet=False) as other:
        other.send_raw(other.hello)
        assert other.error()["code"] == "over_limit"


@forces("limits.settled_events", config=toml("limits.settled_events", 2))
def hit_settled_events(daemon):
    with daemon.client() as c:
        work(c, 4)
        c.event("e1", ["a"])  # forgotten, so accepted like a new event
        assert c.verdicts()[0]["event"] == "e1"


@forces("limits.generators", config=toml("limits.generators", 1))
def hit_generators(daemon):
    with daemon.client() as c:
        for v in ("v1", "v2"):  # two generators: each has more outputs than inputs
            c.start(v, "a")
            c.event("o" + v, ["b"], source=v)
        c.start("v3", "b", ["ov1", "ov2"])
        c.event("o3", ["c"], source="v3")
        c.verdicts()


@forces("limits.judging_work", config=toml("limits.judging_work", 1))
def hit_judging_work(daemon):
    with daemon.client(agents=["a"]) as c:
        c.event("e1", ["nobody"])
        assert c.verdicts() == [{"event": "e1", "action": "deliver"}]  # judging it would have found an orphaned event


@forces("limits.reorder_ms")
def hit_reorder_ms(daemon):
    with daemon.client(clock="wall", session="a"), daemon.client(clock="wall", session="b") as b:
        b.start("v1", "x", ["of another session"])
        b.wait_acked()


@forces("run_bytes", config="run_bytes = 3000\n")
def hit_run_bytes(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"], event={"payload": "x" * 4000})
        c.verdicts()
        c.event("e2", ["a"])
        refused(c, "run_bytes")
        c.tell("run_ended", outcome="success")
        c.wait_acked()


@forces("runs", config="runs = 1\n")
def hit_runs(daemon):
    with daemon.client("r1"), Client(daemon, "r2", greet=False) as other:
        other.send_raw(other.hello)
        assert other.error()["code"] == "over_limit"


@forces("credits", config="credits = 1\n")
def hit_credits(daemon):
    with daemon.client() as c:
        for i in range(200):
            c.event(f"e{i}", ["a"])
        c.wait_acked()  # digd reads on when the disk has caught up


@forces("rate", config=TOKENS)
def hit_rate(daemon):
    # Hellos count too: digd refuses these, and they still use up the rate.
    with slow_token(daemon) as c:
        for _ in range(60):
            c.send_raw({"type": "hello", "protocol": 1, "run": ""})
        wait_until(lambda: token_hits(daemon, "rate") > 0, "the rate limit to pause the client")
        c.send_raw(c.hello)
        c.wait_for("welcome")


@forces("byte_rate", config=TOKENS)
def hit_byte_rate(daemon):
    with slow_token(daemon) as c:
        c.send_raw({**c.hello, "note": "x" * 2000})
        c.wait_for("welcome")
        wait_until(lambda: token_hits(daemon, "rate") > 0, "the rate limit to pause the client")


@forces("max_connections", config=TOKENS)
def hit_max_connections(daemon):
    with slow_token(daemon), pytest.raises(InvalidStatus) as refused_one:
        slow_token(daemon)
    assert refused_one.value.response.status_code == 429
    assert token_hits(daemon, "connections_of_token") == 1


@forces("max_runs", config=TOKENS)
def hit_max_runs(daemon):
    with slow_token(daemon) as first, slow_token(daemon) as second:
        first.send_raw(first.hello)
        first.wait_for("welcome")
        second.send_raw({**second.hello, "run": "another"})
        assert second.error()["code"] == "over_limit"
    assert token_hits(daemon, "runs_of_token") == 1


@forces("connections.max_per_peer", config=toml("connections.max_per_peer", 2))
@forces("connections.most", config=toml("connections.most", 2))
def hit_connections(daemon):
    with daemon.raw(), daemon.raw() as second:
        second.sendall(f"GET /healthz HTTP/1.1\r\nHost: {daemon.address}\r\n\r\n".encode())
        assert second.recv(100).startswith(b"HTTP/1.1 200")
        with daemon.raw() as third:
            assert third.recv(1) == b""
    wait_until(lambda: lets_in(daemon), "the two connections to close")


def lets_in(daemon):
    try:
        return ask(daemon, "GET", "/healthz")[0] == 200
    except ConnectionError:
        return False


@forces("connections.memory_bytes", config=toml("connections.memory_bytes", 4_000_000))
def hit_connection_memory(daemon):
    """A client that sends a part of a message holds more than a quarter; another client misses nothing."""
    with daemon.client("r2") as other, daemon.client() as c:
        c.ws.socket.sendall(b"\x81\xff" + (1_000_000).to_bytes(8, "big") + b"\0\0\0\0" + b" " * 900_000)
        assert c.closed_with() == 4411
        other.event("e1", ["a"])
        other.verdicts()
    wait_until(lambda: metric(daemon, "digd_connection_memory_bytes") < 500_000, "the memory to be free")


@forces("connections.idle_ms", config=toml("connections.idle_ms", 1000))
def hit_idle(daemon):
    with handshaken(daemon, "r1") as silent:  # answers no ping
        seen = b""
        while chunk := silent.recv(65536):
            seen += chunk
        assert b"101 Switching" in seen


@forces("connections.quiet_ms", config=toml("connections.quiet_ms", 300))
def hit_quiet(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"])
        assert c.closed_with() == 4410
    with daemon.client() as again:
        assert again.welcome["acked_seq"] == 1


@forces("connections.queue_frames", config=toml("connections.queue_frames", 16))
def hit_queue_frames(daemon):
    never_reads(daemon)


@forces("connections.queue_bytes", config=toml("connections.queue_bytes", 65536))
def hit_queue_bytes(daemon):
    never_reads(daemon)


@forces("retention.bytes", config=toml("retention.bytes", 1))
def hit_retention_bytes(daemon):
    with daemon.client() as c:
        work(c, 20)
        c.tell("run_ended", outcome="success")
        c.wait_acked()
    wait_until(lambda: metric(daemon, 'digd_retention_runs_total{reason="size"}') > 0, "the deletion", 60)


@forces("payloads.search_bytes", config=toml("payloads.search_bytes", 100_000))
def hit_search_bytes(daemon):
    with daemon.client() as c:
        work(c, 20, payload="filler " * 1000)
        c.wait_acked()
    wait_until(lambda: metric(daemon, "digd_search_dropped_runs_total") > 0, "a run that leaves the index")


@forces("overload.memory_bytes", config=toml("overload.memory_bytes", 1))
def hit_memory(daemon):
    assert_turned_away(daemon, "overload_memory", "no_new_runs, shrink_credits, observe, refuse")


@forces("overload.archive_bytes", config=toml("overload.archive_bytes", 1))
def hit_archive(daemon):
    assert_turned_away(daemon, "overload_archive", "no_new_runs, refuse")


# ---- helpers


def handshaken(daemon, run):
    s = daemon.raw()
    s.sendall(
        (
            f"GET /v1/ingest?run={run} HTTP/1.1\r\nHost: {daemon.address}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Protocol: digd.v1\r\n\r\n"
        ).encode()
    )
    s.sendall(masked(json.dumps({"type": "hello", "protocol": 1, "run": run, "clock": "trace"})))
    return s


def masked(text):
    body = text.encode()
    head = bytes([0x81, 0x80 | len(body)]) if len(body) < 126 else bytes([0x81, 0xFE]) + len(body).to_bytes(2, "big")
    return head + b"\0\0\0\0" + body


def never_reads(daemon):
    """A client with a small buffer that sends and never reads, until digd drops it."""
    with handshaken(daemon, "r1") as s:
        frame = masked(json.dumps({"type": "event", "seq": 1, "event": {"id": "x" * 200, "recipients": []}}))
        s.settimeout(0.2)

        def was_dropped():
            try:
                s.sendall(frame * 200)  # a repeated seq is answered with the same verdicts and an ack
            except (BrokenPipeError, ConnectionResetError):
                pass
            except TimeoutError:
                pass
            return metric(daemon, 'digd_limits_hit_total{limit="client_queue"}') > 0

        wait_until(was_dropped, "the client to be dropped")


TOKEN = "a secret token"


def slow_token(daemon):
    return Client(daemon, place=False, greet=False, token=TOKEN)


def token_hits(daemon, limit):
    status, body, _ = ask(daemon, "GET", "/metrics", headers={"Authorization": "Bearer " + TOKEN})
    assert status == 200
    return float(re.search(rf'limits_hit_total{{limit="{limit}"}} (\S+)', body.decode())[1])


def assert_turned_away(daemon, reason, actions):
    """During an overload, new runs and new messages of the run `before` are refused."""
    with Client(daemon, "new", greet=False) as other:
        other.send_raw(other.hello)
        assert other.error()["code"] == "over_limit"
    reasons = get(daemon, "/readyz", 503)["reasons"]
    assert [r["code"] for r in reasons] == [reason]
    assert reasons[0]["message"].endswith("on: " + actions)
    with daemon.client("before") as c:
        c.event("e9", ["a"])
        refused(c, "overload")
        c.tell("run_ended", outcome="success")
        c.wait_acked()


# ---- the table, row by row


def test_every_limit_of_the_table_has_exactly_one_test():
    assert set(FORCED) == set(TABLE)


@pytest.mark.parametrize("limit", TABLE)
def test_a_limit_is_enforced_and_counted(tmp_path, limit):
    hit, config = FORCED[limit]
    of_token = limit if limit in TOKEN_LIMITS else "rate"
    (tmp_path / "tokens.toml").write_text(
        '[[token]]\nname = "slow"\nsha256 = "%s"\nrights = ["ingest", "read"]\n%s = %d\n'
        % (sha256(TOKEN.encode()).hexdigest(), of_token, TOKEN_LIMITS[of_token])
    )
    counter = TABLE[limit]["counter"]
    name = counter if counter.startswith("digd_") else 'digd_limits_hit_total{limit="%s"}' % counter
    if "overload" in limit:  # a run that was open before the overload
        with Daemon(tmp_path) as before, before.client("before") as c:
            c.event("e1", ["a"])
            c.wait_acked()
    with Daemon(tmp_path, config.replace("{folder}", str(tmp_path))) as daemon:
        if limit not in TOKEN_LIMITS:
            assert "overload" in limit or metric(daemon, name) == 0
        hit(daemon)
        if limit not in TOKEN_LIMITS:  # its function reads the counter itself, with its token
            wait_until(lambda: metric(daemon, name) > 0, name)


@pytest.mark.parametrize("limit", TABLE)
def test_the_table_has_the_defaults_of_the_configuration(limit):
    if limit in TOKEN_LIMITS:
        return
    text = subprocess.run([DIGD, "--print-config"], capture_output=True, text=True, check=True).stdout
    section, _, key = limit.rpartition(".")
    part = text.split(f"[{section}]\n", 1)[1] if section else text.split("\n[", 1)[0]
    assert re.search(rf"^#?\s*{key} = (\S+)", part, re.MULTILINE)[1].replace("_", "") == TABLE[limit]["default"]


# ---- policies


def export(daemon, run="r1"):
    status, body, _ = ask(daemon, "GET", f"/v1/runs/{run}/trace")
    assert status == 200
    return body.decode()


def replayed(trace, *, status=0):
    """Everything that a client would be sent. `status` is 2 if the trace has refused messages."""
    done = subprocess.run(
        [DIGCTL, "replay", "-", "--output", "messages", "--format", "jsonl"],
        input=trace,
        text=True,
        capture_output=True,
    )
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class RecordingClient(Client):
    """Keeps all frames that it receives, except welcomes and acks."""

    def __init__(self, *args, **more):
        self.frames = []
        super().__init__(*args, **more)

    def receive(self, within=TIMEOUT_S):
        frame = super().receive(within)
        if frame["type"] not in ("welcome", "ack"):
            self.frames.append(frame)
        return frame


def exceed(c, limit):
    """Exceeds a limit of the configuration below, then continues."""
    c.event("e1", ["a"])
    c.start("v1", "a", ["e1"])
    {
        "message_bytes": lambda: c.event("big", ["a"], event={"payload": "x" * 3000}),
        "agents": lambda: [c.tell("agent_joined", agent=f"a{i}") for i in range(9)],
        "recipients": lambda: c.event("wide", ["a", "b", "c", "d", "e", "f"]),
        "inputs": lambda: c.start("v9", "a", ["e1", "x2", "x3", "x4", "x5"]),
        "live_events": lambda: [c.event(f"l{i}", ["a"]) for i in range(6)],
        "open_activations": lambda: [c.start(f"w{i}", "b") for i in range(4)],
        "run_bytes": lambda: [c.event(f"b{i}", ["a"], event={"payload": "y" * 1500}) for i in range(4)],
    }[limit]()
    c.event("last", ["nobody there"])
    c.tell("not a message")  # refused, in the replay too
    c.wait_acked()


SMALL = """run_bytes = 4500
[limits]
message_bytes = 2000
agents = 8
recipients = 5
inputs = 4
live_events = 4
open_activations = 3
[over_limit]
"""
CHOICES = [
    (limit.rpartition(".")[2], policy)
    for limit, row in TABLE.items()
    for policy in row["policies"]
    if policy in ("refuse", "observe", "gap") and row["policies"] != ["refuse"]
]


@pytest.mark.parametrize("clock", ["wall", "trace"])
@pytest.mark.parametrize("limit,policy", CHOICES)
def test_the_effect_of_a_policy_replays_exactly_and_survives_a_kill(tmp_path, limit, policy, clock):
    with Daemon(tmp_path, SMALL + f'{limit} = "{policy}"\n') as daemon:
        with RecordingClient(daemon, clock=clock, agents=["a", "b"]) as c:
            exceed(c, limit)
        assert get(daemon, "/v1/runs/r1")["unjudged"] == (limit if policy == "observe" else None)
        assert metric(daemon, 'digd_limits_hit_total{limit="%s"}' % limit) > 0
        assert replayed(export(daemon), status=2) == c.frames
        daemon.kill()
        daemon.start()
        with RecordingClient(daemon, clock=clock, agents=["a", "b"]) as again:
            assert again.welcome["acked_seq"] == c.seq
            assert again.welcome["mode"] == ("off" if policy == "observe" else "enforce")
            assert again.welcome.get("unjudged") == (limit if policy == "observe" else None)
            again.event("after", ["nobody there"])
            again.wait_acked()
        assert replayed(export(daemon), status=2) == c.frames + again.frames


def test_the_end_of_judging_is_reported_once(tmp_path):
    with Daemon(tmp_path, SMALL + 'live_events = "observe"\n') as daemon:
        feed = Feed(daemon)
        with daemon.client() as c:
            exceed(c, "live_events")
        frames = feed.until(lambda f: f["type"] == "message" and f["message"].get("event", {}).get("id") == "last")
        limits = [f["limit"] for f in frames if f["type"] == "limit"]
        assert [(f["limit"], f["policy"]) for f in limits] == [("live_events", "observe")]
        assert daemon.log_text().count("judging_stopped") == 1


def test_payloads_beyond_run_bytes_are_not_kept(tmp_path):
    with Daemon(tmp_path, SMALL + 'run_bytes = "observe"\n') as daemon:
        with daemon.client() as c:
            exceed(c, "run_bytes")
            c.event("after", ["a"], event={"payload": "not to be kept"})
            c.wait_acked()
        trace = export(daemon)
        assert '"after"' in trace and "not to be kept" not in trace
