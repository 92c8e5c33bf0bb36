"""Hits every limit of docs/limits.md on a running digd and checks its policy and its counter.

A row of that table without a test here fails, and so does a test without a row. `limit_policies_test.py` tests what a
policy does to a run.
"""

import json
import re
import subprocess
from hashlib import sha256

import pytest

from limits_table import TABLE, handshaken, masked, toml
from live import DIGD, Client, Daemon, wait_until
from watching import ask, get, metric, work
from websockets.exceptions import InvalidStatus

TOKEN_LIMITS = {"rate": 20, "byte_rate": 1000, "max_connections": 1, "max_runs": 1, "max_bytes": 1000}
TOKENS = 'tokens = "{folder}/tokens.toml"\n'  # one token, with the limit that is tested
FORCED = {}


def forces(*limits, config=""):
    """Marks a function that hits these limits on a daemon with that configuration."""

    def mark(hit):
        for limit in limits:
            FORCED[limit] = (hit, config)
        return hit

    return mark


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
    with daemon.client(run="r2", agents=["a", "b", "c"], greet=False) as opening:
        opening.send_raw(opening.hello)
        assert opening.receive()["code"] == "over_limit"
    with daemon.client(run="r3", agents=["a"]), daemon.client(run="r3", session="s2", agents=["a", "b"]):
        with daemon.client(run="r3", session="s3", agents=["c"], greet=False) as joining:
            joining.send_raw(joining.hello)
            assert joining.receive()["code"] == "over_limit"


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


@forces("max_bytes", config=TOKENS)
def hit_max_bytes(daemon):
    """digd weighs the tokens every 5 s, so the events before that are accepted."""
    with Client(daemon, token=TOKEN) as c, slow_token(daemon) as another:
        c.event("e1", ["a"], event={"payload": "x" * 4000})

        def is_refused():
            c.event(f"e{c.seq + 1}", ["a"])
            c.wait_acked()
            return any(frame["type"] == "error" for frame in c.kept)

        wait_until(is_refused, "the refusal")
        assert c.error()["code"] == "over_limit"
        assert token_hits(daemon, "bytes_of_token") == 1
        another.send_raw({**another.hello, "run": "another"})
        assert another.error()["code"] == "over_limit"
        c.tell("run_ended", outcome="success")
        c.wait_acked()
        assert "error" not in [frame["type"] for frame in c.kept]
    assert token_hits(daemon, "bytes_of_token") == 2


@forces("connections.max_per_peer", config=toml("connections.max_per_peer", 2))
@forces("connections.most", config=toml("connections.most", 2))
def hit_connections(daemon):
    with daemon.raw(), daemon.raw() as second:
        second.sendall(f"GET /healthz HTTP/1.1\r\nHost: {daemon.address}\r\n\r\n".encode())
        assert second.recv(100).startswith(b"HTTP/1.1 200")
        with daemon.raw() as third:
            assert third.recv(1) == b""
    wait_until(lambda: lets_in(daemon), "the two connections to close")


def count_of(daemon, name):
    """The metric; 0 if digd refuses the question, because it still counts connections that have just closed."""
    try:
        return metric(daemon, name)
    except ConnectionError:
        return 0


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
            wait_until(lambda: count_of(daemon, name) > 0, name)


@pytest.mark.parametrize("limit", TABLE)
def test_the_table_has_the_defaults_of_the_configuration(limit):
    if limit in TOKEN_LIMITS:
        return
    text = subprocess.run([DIGD, "--print-config"], capture_output=True, text=True, check=True).stdout
    section, _, key = limit.rpartition(".")
    part = text.split(f"[{section}]\n", 1)[1] if section else text.split("\n[", 1)[0]
    assert re.search(rf"^#?\s*{key} = (\S+)", part, re.MULTILINE)[1].replace("_", "") == TABLE[limit]["default"]
