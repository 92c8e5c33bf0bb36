"""The ingest protocol of a running digd: answers, refusals and closes."""

import json
import sqlite3

import pytest
from websockets.exceptions import ConnectionClosed

from live import Client, Daemon, wait_until

ABC = ["a", "b", "c"]


def rules_of(verdict):
    return [d["rule"] for d in verdict.get("detections", [])]


# ---- hello


def test_welcome_has_the_effective_settings(daemon):
    with daemon.client(agents=ABC, rules={"deadlock": {"window_ms": 2000}}) as c:
        w = c.welcome
        assert (w["protocol"], w["run"], w["session"], w["acked_seq"]) == (1, "r1", "main", 0)
        assert (w["mode"], w["verdict_deadline_ms"], w["credits"]) == ("enforce", 250, 1024)
        assert w["rules"]["deadlock"]["window_ms"] == 2000
        assert w["rules"]["excessive_rerouting"]["max_reroutes"] == 2
        assert w["limits"]["message_bytes"] == 1 << 20
        assert c.ws.subprotocol == "digd.v1"


@pytest.mark.parametrize("run", ["r1", "r2", "r3", "r4", "ein lauf/ü?&"])
@pytest.mark.parametrize("place", [True, False])
def test_a_run_is_reached_from_any_thread(daemon, run, place):
    from urllib.parse import quote
    c = Client(daemon, quote(run, safe="") if place else run, place=place, greet=False)
    c.hello["run"] = run
    c.send_raw(c.hello)
    assert c.wait_for("welcome")["run"] == run
    c.event("e1", ["a"])
    assert c.verdicts() == [{"event": "e1", "action": "deliver"}]
    c.wait_acked(1)
    c.close()


def test_a_frame_before_hello_is_refused_and_hello_still_accepted(daemon):
    c = Client(daemon, greet=False)
    for wrong, code in (({"type": "time", "seq": 1}, "bad_message"), ("{", "bad_json"), (b"\x00", "bad_json"),
                        ({"type": "hello", "protocol": 1}, "bad_message"), ("x" * (1 << 20) + "x", "too_large")):
        c.send_raw(wrong)
        error = c.error()
        assert (error["code"], error["fatal"]) == (code, False)
    c.send_raw(c.hello)
    assert c.wait_for("welcome")
    c.close()


def test_another_protocol_is_fatal(daemon):
    c = Client(daemon, greet=False)
    c.send_raw({**c.hello, "protocol": 2})
    error = c.error()
    assert (error["code"], error["fatal"]) == ("unsupported_protocol", True)
    assert c.closed_with() == 4400


@pytest.mark.parametrize("change", [{"clock": "wall"}, {"mode": "observe"}, {"rules": {"deadlock": {"window_ms": 5}}}])
def test_a_hello_that_contradicts_the_run_is_fatal(daemon, change):
    with daemon.client() as first:
        other = Client(daemon, session="second", greet=False)
        other.send_raw({**other.hello, **change})
        error = other.error()
        assert (error["code"], error["fatal"]) == ("hello_conflict", True)
        assert other.closed_with() == 4400
        first.event("e1", ["a"])
        assert first.verdicts()


def test_a_hello_for_another_run_than_the_url_is_a_conflict(daemon):
    c = Client(daemon, "r1", greet=False)
    c.send_raw({**c.hello, "run": "r2"})
    assert (c.error()["code"], c.closed_with()) == ("hello_conflict", 4400)


def test_a_run_over_the_limit_is_refused_and_can_retry(tmp_path):
    with Daemon(tmp_path, "runs = 1\n") as daemon, daemon.client("r1") as c:
        other = Client(daemon, "r2", greet=False)
        other.send_raw(other.hello)
        error = other.error()
        assert (error["code"], error["fatal"]) == ("over_limit", False)
        c.tell("run_ended", outcome="success")
        c.wait_acked()
        other.send_raw(other.hello)
        assert other.wait_for("welcome")
        other.close()


# ---- verdicts


def fire_rule(c, rule):
    """Plays the shortest trace on which the rule fires; returns the verdict or intervention."""
    if rule == "early_termination":
        c.event("e1", ["a"]), c.event("e9", ["b"]), c.start("v1", "a", ["e1"])
        c.end("v1", [{"id": "e2", "submit": True}])
        return c.verdicts()[0]
    if rule == "orphaned_event":
        c.event("e1", ["a"]), c.start("v1", "a", ["e1"])
        c.end("v1", [{"id": "e2", "recipients": ["ghost"]}])
        return c.verdicts()[0]
    if rule == "excessive_rerouting":
        c.event("e1", ["a"])
        for v, agent, to in (("v1", "a", "b"), ("v2", "b", "c"), ("v3", "c", "a")):
            c.start(v, agent, ["e1"])
            c.end(v, reactions={"e1": {"reroute": [to]}})
        return c.verdicts()[0]
    if rule == "cross_lineage_aggregation":
        c.event("e1", ["a"]), c.event("e2", ["b"])
        c.start("v1", "a", ["e1"])
        c.end("v1", [{"id": "x1", "recipients": ["c"]}, {"id": "x2", "recipients": ["a"]}])
        c.start("v2", "b", ["e2"])
        c.end("v2", [{"id": "y1", "recipients": ["c"]}, {"id": "y2", "recipients": ["b"]}])
        return c.verdicts()[0]
    if rule == "repeated_subproblem":
        c.event("e1", ["a", "b"])
        for v, agent, out in (("v1", "a", "o1"), ("v2", "b", "o2")):
            c.start(v, agent, ["e1"])
            c.end(v, [{"id": out, "recipients": ["c"]}])
        return c.verdicts()[0]
    if rule == "deadlock":
        c.event("e1", ["a"], ts=0), c.tell("time", ts=20_000)
        return c.wait_for("intervention")
    c.event("e1", ["a"], ts=0), c.start("v1", "a", ["e1"], ts=0), c.end("v1", ts=0), c.tell("time", ts=20_000)
    return c.wait_for("intervention")


@pytest.mark.parametrize("rule, action", [
    ("early_termination", "reroute"), ("orphaned_event", "reroute"), ("excessive_rerouting", "inject"),
    ("cross_lineage_aggregation", "inject"), ("repeated_subproblem", "inject"), ("deadlock", "create"),
    ("missing_termination", "create")])
@pytest.mark.parametrize("place", [True, False])
def test_each_rule_is_healed_over_the_wire(daemon, rule, action, place):
    with daemon.client(rule, agents=ABC, place=place) as c:
        got = fire_rule(c, rule)
        assert (got["action"], rules_of(got)) == (action, [rule])
        assert got["detections"][0]["healed"] and got["inject"]
        assert "witness" not in got["detections"][0]


def test_a_witness_is_sent_only_if_requested(daemon):
    with daemon.client(agents=ABC, witness=True) as c:
        assert fire_rule(c, "early_termination")["detections"][0]["witness"]["events"]


# ---- errors


def setting(c):
    """e1 is consumed (settled), v1 has ended, v2 is open with e2."""
    c.event("e1", ["a"]), c.start("v1", "a", ["e1"]), c.end("v1")
    c.event("e2", ["b"]), c.start("v2", "b", ["e2"])
    c.wait_acked()


E = lambda id, **more: {"id": id, "recipients": ["a"], **more}
MISTAKES = {
    "bad_message": dict(type="event", event={"id": ""}),
    "over_limit": dict(type="event", event={"id": "e5", "recipients": list("abcdefghij")}),
    "unknown_event": dict(type="delivery", event="e77", applied="as_is"),
    "unknown_activation": dict(type="activation_ended", activation="v77"),
    "activation_closed": dict(type="activation_ended", activation="v1"),
    "duplicate_event": dict(type="event", event=E("e1")),
    "duplicate_activation": dict(type="activation_started", activation="v1", agent="a", inputs=[]),
    "reserved_id": dict(type="event", event=E("sys:1")),
    "not_an_input": dict(type="activation_ended", activation="v2", reactions={"e1": "consume"}),
    "failed_with_outputs": dict(type="activation_ended", activation="v2", failed=True, outputs=[E("e6")]),
    "submit_without_source": dict(type="event", event=E("e7", submit=True)),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_a_refused_message_uses_up_its_seq_and_nothing_else(daemon, code):
    with daemon.client(agents=ABC, limits={"recipients": 5}) as c:
        setting(c)
        mistake = dict(MISTAKES[code])
        seq = c.tell(mistake.pop("type"), **mistake)
        error = c.error()
        assert (error["code"], error["seq"], error["fatal"]) == (code, seq, False)
        c.event("e99", ["a"])
        assert c.verdicts() == [{"event": "e99", "action": "deliver"}]
        c.wait_acked()


def test_rerouting_a_settled_event_is_refused(daemon):
    with daemon.client(agents=ABC) as c:
        setting(c)
        c.start("v3", "c", ["e1"])
        seq = c.end("v3", reactions={"e1": {"reroute": ["a"]}})
        error = c.error()
        assert (error["code"], error["seq"]) == ("settled_event", seq)


@pytest.mark.parametrize("frame", ["{", "[]", '"x"', "", b"\x00\x01", '{"type":"time"}', '{"type":"time","seq":"1"}'])
def test_a_frame_without_a_usable_seq_takes_the_next(daemon, frame):
    with daemon.client() as c:
        c.event("e1", ["a"])
        c.send_raw(frame)
        c.seq += 1
        error = c.error()
        assert error["code"] in ("bad_json", "bad_message") and error["seq"] == 2
        c.event("e2", ["a"])
        assert c.verdicts()
        c.wait_acked(3)


def test_a_seq_gap_is_refused_with_the_expected_seq(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"])
        c.seq = 6
        c.event("e7", ["a"])
        error = c.error()
        assert error["code"] == "bad_seq" and "2" in error["message"]
        c.seq = 1
        c.event("e2", ["a"])
        assert c.verdicts(2)


def test_a_durable_seq_is_acked_again_and_ignored(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"])
        c.verdicts()
        c.wait_acked(1)
        c.send_raw({"type": "event", "seq": 1, "event": {"id": "other", "recipients": ["a"]}})
        assert c.wait_for("ack")["seq"] == 1
        c.event("other", ["a"])
        assert c.verdicts(2)


def test_a_large_frame_is_refused_and_a_giant_one_closes_the_connection(daemon):
    with daemon.client(limits={"message_bytes": 2000}) as c:
        assert c.welcome["limits"]["message_bytes"] == 2000
        for size in (2001, 5000, 31_000):
            seq = c.event("e" + str(size), ["a"], event={"payload": "x" * size})
            error = c.error()
            assert (error["code"], error["seq"], error["fatal"]) == ("too_large", seq, False)
        c.event("fine", ["a"], event={"payload": "x" * 1500})
        assert c.verdicts()
        c.wait_acked(4)
        c.event("giant", ["a"], event={"payload": "x" * 32_001})
        assert c.closed_with() == 1009
    with daemon.client(limits={"message_bytes": 2000}) as c:
        assert c.welcome["acked_seq"] == 4
        c.event("after", ["a"])
        assert c.verdicts()


def test_messages_after_run_ended_are_refused_in_memory_and_from_the_archive(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"])
        c.tell("run_ended", outcome="success")
        c.event("e2", ["a"])
        assert c.error()["code"] == "run_closed"
        c.wait_acked(3)
    for expected in (3, 4, 5):  # in memory, read back from the archive, and read back again
        with daemon.client(next_seq=expected + 1) as c:
            assert c.welcome["acked_seq"] == expected
            c.event("e3", ["a"])
            assert c.error()["code"] == "run_closed"
            c.wait_acked(expected + 1)


# ---- connections and sessions


def test_unacked_messages_are_answered_again_after_a_reconnect(daemon):
    c = daemon.client(agents=ABC)
    c.event("e1", ["a"])
    first = c.verdicts()
    c.drop()
    with daemon.client(agents=ABC) as again:
        acked = again.welcome["acked_seq"]
        again.seq = 0
        again.event("e1", ["a"])
        if acked == 0:
            assert again.verdicts(1) == first
        else:
            assert again.wait_for("ack")["seq"] == 1
        again.event("e2", ["a"])
        assert again.verdicts(2)


def test_a_newer_connection_of_a_session_replaces_the_older(daemon):
    for place in (True, False):
        old = daemon.client("r-" + str(place), place=place)
        old.event("e1", ["a"])
        old.wait_acked()
        with daemon.client("r-" + str(place), place=not place) as new:
            assert old.closed_with() == 4409
            new.event("e2", ["a"])
            assert new.verdicts()


def test_sessions_share_the_graph_and_detections_name_their_session(daemon):
    with daemon.client("r1", "one", agents=ABC) as first, daemon.client("r1", "two", place=False) as second:
        first.event("e1", ["a"])
        first.wait_acked()
        second.start("v1", "a", ["e1"])
        second.end("v1", [{"id": "e2", "recipients": ["ghost"]}])
        assert second.verdicts()[0]["detections"][0]["session"] == "two"


def test_a_message_with_an_unseen_id_waits_for_the_other_session(daemon):
    limits = {"reorder_ms": 5000}
    with daemon.client("r1", "one", agents=ABC, limits=limits) as first, daemon.client("r1", "two") as second:
        second.start("v1", "a", ["e1"])  # the other session announces e1
        second.end("v1", [{"id": "e2", "recipients": ["b"]}])
        first.event("e1", ["a"])
        assert first.verdicts() == [{"event": "e1", "action": "deliver"}]  # judged, because it was not late
        assert second.verdicts() == [{"event": "e2", "action": "deliver"}]


def test_a_waiting_message_is_applied_after_reorder_ms(daemon):
    with daemon.client("r1", "one", limits={"reorder_ms": 30}), daemon.client("r1", "two") as two:
        two.start("v1", "a", ["never"])
        two.end("v1", [{"id": "e2", "recipients": ["b"]}])
        assert two.verdicts()
        two.wait_acked(2)


# ---- interventions


WALL = dict(clock="wall", rules={"deadlock": {"window_ms": 30, "max_attempts": 1}})


def test_a_window_fires_without_a_message_and_reaches_the_recipients_sessions(daemon):
    with daemon.client("r1", "one", agents=["a"], **WALL) as first, \
            daemon.client("r1", "two", agents=["b"], clock="wall") as second, \
            daemon.client("r1", "watching", clock="wall") as third:
        first.event("e1", ["a"])
        for c in (first, second):
            got = c.wait_for("intervention")
            assert (got["id"], got["action"], got["recipients"]) == ("sys:1", "create", ["a", "b"])
            assert got["detections"][0]["at"] is None
        third.tell("time")
        third.wait_acked()
        assert not third.kept


def test_an_intervention_is_resent_until_it_is_answered(daemon):
    with daemon.client(agents=ABC, **WALL) as c:
        c.event("e1", ["a"])
        first = c.wait_for("intervention")
        c.wait_acked()  # else the next client would use its number again, for a message that digd then skips
    with daemon.client(agents=ABC, **WALL) as c:
        assert c.wait_for("intervention") == first
        c.tell("delivery", of="sys:1", applied="created")
        c.wait_acked()
    with daemon.client(agents=ABC, **WALL) as c:
        c.tell("time")
        c.wait_acked()
        assert not c.kept


def test_an_unanswered_intervention_survives_a_kill(tmp_path):
    with Daemon(tmp_path) as daemon:
        with daemon.client(agents=ABC, **WALL) as c:
            c.event("e1", ["a"])
            first = c.wait_for("intervention")
            c.tell("time")
            c.wait_acked()
        daemon.kill()
        daemon.start()
        with daemon.client(agents=ABC, **WALL) as c:
            assert c.wait_for("intervention") == first


# ---- durability


def test_an_acked_message_is_in_the_archive_file(daemon):
    with daemon.client() as c:
        for i in range(1, 51):
            c.event(f"e{i}", ["a"], event={"fyi": True})
        acks = 0
        while c.acked < 50:
            frame = c.receive()
            if frame["type"] != "ack":
                continue
            acks += 1
            with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
                (stored,) = db.execute("SELECT max(seq) FROM messages").fetchone()
            assert stored >= frame["seq"]
        assert acks >= 1


def test_a_fast_client_is_throttled_and_loses_nothing(tmp_path):
    with Daemon(tmp_path, "credits = 8\nthreads = 2\n") as daemon:
        for run in ("r1", "r2"):
            for place in (True, False):
                with daemon.client(f"{run}{place}", place=place) as c:
                    for i in range(1, 501):
                        c.event(f"e{i}", ["a"], event={"fyi": True})
                    c.wait_acked(500)
                    assert sum(f["type"] == "verdicts" for f in c.kept) == 500


def test_without_an_archive_messages_are_acked_at_once(tmp_path):
    with Daemon(tmp_path, "archive = false\n") as daemon:
        with daemon.client() as c:
            c.event("e1", ["a"])
            assert c.verdicts()
            c.wait_acked(1)
        assert not (daemon.data / "digd.sqlite").exists()


def test_a_client_that_does_not_read_is_dropped_and_delays_no_other(tmp_path):
    with Daemon(tmp_path, "[connections]\nqueue_bytes = 65536\n") as daemon:
        deaf = daemon.client("r1", max_queue=1, agents=["a"])
        ghosts = [("g%d-" % i) + "x" * 240 for i in range(40)]
        sent = 0
        try:
            while "r1" not in closed_runs(daemon) and sent < 5000:
                deaf.event(f"e{sent}", ghosts)
                sent += 1
                if sent % 500 == 0:
                    with daemon.client("quick", next_seq=1) as quick:
                        quick.event(f"q{sent}", ["a"])
                        assert quick.verdicts()
        except ConnectionClosed:
            pass
        wait_until(lambda: "r1" in closed_runs(daemon), "the deaf client to be dropped")
        daemon.wait_logged("does not read")


def closed_runs(daemon):
    return [line.split('run="')[1].split('"')[0] for line in daemon.log_text().splitlines()
            if "session_closed" in line]
