"""A run of a fleet has one home, whichever daemon is asked, killed, cut off or drained."""

import asyncio
import contextlib
import json
import signal
import urllib.request

import digd
import pytest
from fleet_test import all_published, collect, collected, stored
from homes import LEASE_MS, Host, Proxy, join, metric, stored_rows, try_join
from live import Daemon, wait_until
from nats_server import NatsServer

AGENTS = ["a", "b"]


@pytest.fixture
def fleet(nats, tmp_path):
    """Three daemons."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Host(tmp_path, f"h{i}", nats.url)) for i in range(3)]


def moved(daemon, run):
    client, error = try_join(daemon, run)
    assert client is None and error["code"] == "moved", error
    return error["to"]


class Script:
    """The messages of a run, which some clients in turn send, and the answers to them."""

    def __init__(self, client):
        self.client = client
        self.answers = {}

    def step(self, i):
        client = self.client
        if i == 0:
            client.event("task", ["a"], ts=0)
        client.start(f"v{i}", AGENTS[i % 2], ["task" if i == 0 else f"e{i - 1}"], ts=10 * i + 1)
        # Every third event reaches nobody, and is healed.
        client.event(f"e{i}", ["nobody"] if i % 3 == 2 else [AGENTS[(i + 1) % 2]], source=f"v{i}", ts=10 * i + 2)
        self.answers[client.seq] = client.verdicts()
        client.end(f"v{i}", reactions={"task" if i == 0 else f"e{i - 1}": "consume"} if i % 3 != 0 or i == 0 else None,
                   ts=10 * i + 3)

    def end(self, ts):
        self.client.tell("run_ended", outcome="success", ts=ts)
        self.client.wait_acked()


def undisturbed(folder, run, steps):
    with Daemon(folder) as daemon, daemon.client(run=run, agents=AGENTS) as client:
        script = Script(client)
        for i in range(steps):
            script.step(i)
        script.end(10 * steps)
        return script.answers, stored_rows(daemon, run)


def without_hellos(rows):
    """A run that moved has a hello for each session that joined again with other capabilities: here none."""
    return {**rows, "entries": [entry for entry in rows["entries"] if entry[1] != "session_joined"]}


def test_the_daemon_that_is_asked_first_is_the_home(fleet):
    with fleet[1].client(run="r1", agents=AGENTS) as client:
        client.event("task", ["a"], ts=0)
        assert client.verdicts()
        client.wait_acked()
        for other in (fleet[0], fleet[2]):
            assert moved(other, "r1") == fleet[1].url
        with fleet[1].client(run="r1", session="second", agents=["c"]):
            pass


def test_a_python_client_follows_to_the_home(fleet):
    async def work():
        async with digd.Run("r1", ["c"], url=fleet[0].address, session="second", clock="trace") as run:
            await run.emit(["c"], ts=1)
            await run.flush()
            await run.end("success")

    with fleet[2].client(run="r1", session="first", agents=AGENTS) as client:
        client.event("task", ["a"], ts=0)
        client.wait_acked()
        asyncio.run(work())
        assert metric(fleet[0], "digd_fleet_homes_elsewhere_total") == 1
        rows = stored_rows(fleet[2], "r1")["entries"]
        assert [(row[2], row[5]) for row in rows if row[1] == "message"] == [
            ("first", "event"),
            ("second", "event"),
            ("second", "run_ended"),
        ]


def test_a_killed_home_is_taken_over_and_judges_as_one_undisturbed_daemon(fleet, tmp_path):
    steps = 12
    expected, rows = undisturbed(tmp_path / "alone", "r1", steps)
    client, home = join(fleet, "r1", agents=AGENTS)
    script = Script(client)
    for i in range(4):
        script.step(i)
    client.wait_acked()
    for end in (8, steps):
        acked = client.acked
        home.kill()
        client.drop()
        client, home = join(fleet, "r1", agents=AGENTS, answered_seq=client.seq)
        assert client.acked == acked, "what was acked is there, and no more"
        script.client = client
        for i in range(len(script.answers), end):
            script.step(i)
        client.wait_acked()
    script.end(10 * steps)
    assert script.answers == expected
    assert without_hellos(stored_rows(home, "r1")) == without_hellos(rows)
    assert len([entry for entry in rows["entries"] if entry[1] == "message"]) == client.acked
    assert metric(home, "digd_fleet_homes_taken_total") == 1


def test_after_a_reconnect_nothing_is_acked_before_its_answer_came_again(nats, tmp_path):
    """The client did not get the answers. They are durable on the host, but only later in the stream."""
    with Host(tmp_path, "h1", nats.url, lease_ms=60_000) as host:
        client, _ = join([host], "r1", agents=AGENTS)
        nats.kill()
        for i in range(3):
            client.event(f"e{i}", ["nobody"], ts=i)
        client.verdicts()  # the third answer; the tests' client skips the others
        client.drop()
        client, _ = join([host], "r1", agents=AGENTS, answered_seq=0)
        assert client.acked == 0
        nats.start()
        wait_until(lambda: all_published(host), "the publication")
        for i in range(3):
            client.event(f"e{i}", ["nobody"], ts=i)
        answered = set()
        while client.acked < 3:
            frame = client.receive()
            if frame["type"] == "verdicts":
                answered.add(frame["seq"])
            elif frame["type"] == "ack":
                client.acked = frame["seq"]
                assert set(range(1, frame["seq"] + 1)) <= answered, (frame, answered)


def test_what_a_home_publishes_after_its_run_began_again_elsewhere_is_void(tmp_path):
    """The home had published nothing, so the run begins again. Its client sends the same messages to the new home."""
    users = "{user: mute, password: x, permissions: {publish: {deny: digd.archive.>}}}, {user: all, password: x}"
    lake = tmp_path / "lake"
    with NatsServer(tmp_path / "nats", more=f"authorization {{ users: [{users}] }}") as server:
        servers = [server.url.replace("//", f"//{user}:x@") for user in ("mute", "all")]
        server.url = servers[1]
        first, second = Host(tmp_path, "h1", servers[0]), Host(tmp_path, "h2", servers[1])
        with second, first:  # the daemon that may publish creates the stream
            client, home = join([first, second], "r1", agents=AGENTS)
            assert home is first
            client.event("task", ["a"], ts=0)
            assert client.verdicts() and client.acked == 0
            wait_until(lambda: any("task" in str(row) for row in stored(first)["entries"]), "the entry")
            first.kill()
            client.drop()
            client, home = join([first, second], "r1", agents=AGENTS)
            assert home is second and client.acked == 0
            client.event("task", ["a"], ts=0)
            client.wait_acked()
            client.close()
            first.config.write_text(first.config.read_text().replace(*servers))
            first.restart()
            wait_until(lambda: all_published(first) and all_published(second), "the publication")
            collect(server, lake)
            assert collected(lake) == stored(second)


def test_a_taken_run_survives_a_restart_of_its_new_home(fleet, tmp_path):
    client, home = join(fleet, "r1", agents=AGENTS)
    script = Script(client)
    for i in range(3):
        script.step(i)
    client.wait_acked()
    home.kill()
    client.drop()
    client, home = join(fleet, "r1", agents=AGENTS)
    script.client = client
    script.step(3)
    client.wait_acked()
    home.kill()
    home.start()  # within the lease: it goes on
    client.drop()
    client, again = join([home], "r1", agents=AGENTS)
    assert again is home and client.acked == client.seq
    script.client = client
    script.step(4)
    client.wait_acked()
    answers, _ = undisturbed(tmp_path / "alone", "r1", 5)
    assert script.answers == answers


def test_answers_of_the_old_home_are_sent_again_by_the_new_one(fleet):
    client, home = join(fleet, "r1", agents=AGENTS)
    client.event("lost", ["nobody"], ts=1)
    answer = client.verdicts()
    client.wait_acked()
    home.kill()
    client.drop()
    client, _ = join(fleet, "r1", agents=AGENTS, answered_seq=0)
    assert client.wait_for("verdicts", seq=1)["verdicts"] == answer


def test_a_home_that_is_cut_off_stops_judging_and_is_fenced_when_it_returns(nats, tmp_path):
    proxy = Proxy(nats.port)
    cut_off, other = Host(tmp_path, "h1", proxy.url), Host(tmp_path, "h2", nats.url)
    with cut_off, other, cut_off.client(run="r1", agents=AGENTS) as client:
        client.event("task", ["a"], ts=0)
        client.wait_acked()
        proxy.cut()
        wait_until(lambda: not cut_off.has_lease(), "the end of the lease", within=LEASE_MS / 1000)
        client.event("lost", ["nobody"], ts=1)  # an orphan, which nobody judges
        assert client.verdicts() == [{"event": "lost", "action": "deliver"}]
        cut_off.wait_logged("judging_stopped", "fleet_lease")
        with urllib.request.urlopen(f"http://{cut_off.address}/readyz") as answer:
            assert "fleet_lease" in [note["code"] for note in json.load(answer)["notes"]]
        client.kept.clear()
        # Meanwhile it took a message that nobody acknowledged: the other daemon does not have it.
        try_join(other, "r1")
        taken, home = join([other], "r1", agents=AGENTS)
        assert home is other and taken.acked == 1
        taken.event("lost", ["nobody"], ts=1)
        assert taken.verdicts()[0].get("detections"), "the other daemon judges"
        proxy.mend()
        error = client.wait_for("error", code="moved")
        assert error["to"] == other.url
        assert client.closed_with() == 4400
        assert moved(cut_off, "r1") == other.url
        taken.wait_acked()
        taken.close()
    proxy.close()


def test_a_home_that_is_cut_off_for_less_than_its_lease_judges_on(nats, tmp_path):
    proxy = Proxy(nats.port)
    with Host(tmp_path, "h1", proxy.url, lease_ms=20_000) as daemon, daemon.client(run="r1", agents=AGENTS) as client:
        client.event("task", ["a"], ts=0)
        client.wait_acked()
        proxy.cut()
        client.event("lost", ["nobody"], ts=1)
        assert client.verdicts()[0].get("detections")
        assert client.acked == 1, "an ack waits for the stream"
        proxy.mend()
        client.wait_acked()
    proxy.close()


def test_a_home_whose_lease_lapsed_resumes_if_nobody_took_its_runs(nats, tmp_path):
    proxy = Proxy(nats.port)
    with Host(tmp_path, "h1", proxy.url) as daemon, daemon.client(run="r1", agents=AGENTS) as client:
        client.event("task", ["a"], ts=0)
        client.wait_acked()
        proxy.cut()
        wait_until(lambda: not daemon.has_lease(), "the end of the lease", within=LEASE_MS / 1000)
        client.event("lost", ["nobody"], ts=1)
        assert client.verdicts() == [{"event": "lost", "action": "deliver"}]
        proxy.mend()
        client.wait_for("judging_resumed")
        client.event("lost2", ["nobody"], ts=2)
        assert client.verdicts()[0].get("detections")
        client.wait_acked()
    proxy.close()


def test_a_pinned_run_is_judged_and_acknowledged_without_nats(nats, tmp_path):
    proxy = Proxy(nats.port)
    pinned = Host(tmp_path, "h1", proxy.url, on_lost_stream="local")
    with pinned, Host(tmp_path, "h2", nats.url) as other, pinned.client(run="r1", agents=AGENTS) as client:
        client.event("task", ["a"], ts=0)
        client.wait_acked()
        proxy.cut()
        wait_until(lambda: not pinned.has_lease(), "the end of the lease", within=LEASE_MS / 1000)
        client.event("lost", ["nobody"], ts=1)
        assert client.verdicts()[0].get("detections")
        client.wait_acked()
        assert moved(other, "r1") == pinned.url
        assert moved(other, "r1") == pinned.url
    proxy.close()


def test_a_stopped_daemon_hands_its_runs_over_at_once(nats, tmp_path):
    hosts = [Host(tmp_path, f"h{i}", nats.url, lease_ms=60_000) for i in range(2)]  # nobody can wait for its end
    with hosts[0], hosts[1]:
        steps = 6
        client, home = join(hosts, "r1", agents=AGENTS)
        script = Script(client)
        for i in range(3):
            script.step(i)
        hosts[0].process.send_signal(signal.SIGTERM)
        assert hosts[0].process.wait(30) == 0
        client.drop()
        taken, home = join(hosts, "r1", agents=AGENTS, within=10)
        assert home is hosts[1]
        assert taken.acked == client.seq, "everything is in the stream"
        script.client = taken
        for i in range(3, steps):
            script.step(i)
        script.end(10 * steps)
        expected, _ = undisturbed(tmp_path / "alone", "r1", steps)
        assert script.answers == expected
        hosts[0].start()
        assert moved(hosts[0], "r1") == hosts[1].url


def test_many_runs_of_a_dead_host_are_restored(fleet):
    runs = [f"r{i}" for i in range(60)]
    for run in runs:
        with fleet[0].client(run=run, agents=AGENTS) as client:
            client.event("task", ["a"], ts=0)
            client.wait_acked()
    fleet[0].kill()
    for run in runs:
        client, home = join(fleet, run, first=fleet[1], agents=AGENTS)
        assert client.acked == 1
        client.close()
    assert metric(fleet[1], "digd_fleet_homes_taken_total") == len(runs)
    assert metric(fleet[1], "digd_fleet_restored_entries_total") == 3 * len(runs)


def test_a_deleted_run_begins_again_wherever_it_is_asked_for(fleet):
    with fleet[0].client(run="r1", agents=AGENTS) as client:
        client.event("task", ["a"], ts=0)
        client.wait_acked()
    request = urllib.request.Request(f"http://{fleet[0].address}/v1/runs/r1", method="DELETE")
    assert urllib.request.urlopen(request).status == 204
    client, home = join([fleet[1]], "r1", agents=AGENTS)
    assert home is fleet[1] and client.acked == 0
    client.close()


def test_without_nats_a_new_run_is_refused_and_an_open_one_keeps_its_credits(nats, tmp_path):
    host = Host(tmp_path, "h1", nats.url, more="credits = 8\n")
    with host as daemon, daemon.client(run="r1", agents=["a"]) as client:
        client.event("task", ["a"], ts=0)
        client.wait_acked()
        nats.kill()
        for i in range(8):
            client.event(f"e{i}", ["a"], ts=i)
            client.verdicts()
        assert client.acked == 1
        refused, error = try_join(daemon, "new")
        assert refused is None and error["code"] == "over_limit" and not error["fatal"]
        nats.start()
        client.wait_acked()
