"""The client with a running daemon, and without one."""

import asyncio
import hashlib
import json
import logging
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import digd
from client_helpers import async_test, unused_address, wait_for, url_of
from live import Daemon, wait_until
from tls_connections_test import certificate, trusting

AB = ["a", "b"]


def archived_messages(daemon, *types):
    """The messages in the archive, in order; only those of the given types, if there are any."""
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        rows = db.execute("SELECT frame FROM entries WHERE kind = 'message' ORDER BY id").fetchall()
    frames = [json.loads(frame) for (frame,) in rows]
    return [f for f in frames if not types or f["type"] in types]


def run_at(daemon, run, **more):
    return digd.Run(run, url=url_of(daemon), agents=AB, **more)


@async_test
async def test_a_run_reports_events_and_gets_verdicts(daemon):
    async with run_at(daemon, "r1") as run:
        task = await run.emit(["a"], payload={"text": "do it"})
        assert (task.action, task.as_is, task.recipients) == ("deliver", None, ("a",))
        async with run.activation("a", [task]) as a:
            note = await a.emit(["b"], payload="on it")
            lost = a.output(["nobody"], payload="where to?")
        assert note.action == "deliver"
        assert a.verdict(lost).action == "reroute" and a.verdict(lost).recipients == ("a",)
        assert a.verdict(lost).detections[0].rule == "orphaned_event" and "nobody" in a.verdict(lost).inject
        assert run.connected and run.welcome["mode"] == "enforce"
        await run.end("success", {"score": 1})
        assert await run.flush()


@async_test
async def test_reactions_and_failures_are_reported(daemon):
    async with run_at(daemon, "r1", rules={"excessive_rerouting": {"max_reroutes": 0}}) as run:
        first, second = await run.emit(["a"]), await run.emit(["a"])
        async with run.activation("a", [first, second]) as a:
            a.wait(first)
            a.reroute(second, ["b"])
        (verdict,) = a.verdicts
        assert (verdict.event, verdict.action, verdict.recipients) == (second.event, "inject", ("b",))
        with pytest.raises(ZeroDivisionError):
            async with run.activation("b", [second]) as b:
                b.output(["a"])
                1 / 0
        assert b.verdicts == ()
        started = await run.start_activation("a", [first])
        (early,) = await run.end_activation(
            started, {first.event: "discard"}, [digd.Event("x", (), submit=True)], inputs=[first]
        )
        assert early.given_back and early.detections[0].evidence == (second.event,)  # b failed, so it is still pending
        with pytest.raises(RuntimeError, match="has ended"):
            await b.emit(["a"])
    assert run.counters.errors == {}


@async_test
async def test_an_answer_given_too_early_returns_to_its_author(daemon):
    async with run_at(daemon, "r1") as run:
        task, other = await run.emit(["a"]), await run.emit(["b"])
        async with run.activation("a", [task]) as a:
            answer = a.output(payload="42", submit=True)
        assert a.verdict(answer).given_back and a.verdict(answer).recipients == ("a",)
        run.applied(answer, a.verdict(answer))
        async with run.activation("b", [other]) as b:
            part = b.output(["a"])
        async with run.activation("a", [answer, part]) as a:
            final = a.output(submit=True)
        assert (a.verdict(final).action, a.verdict(final).as_is) == ("deliver", None)


@async_test
async def test_without_a_daemon_a_run_logs_one_line_and_waits_for_nothing(caplog):
    caplog.set_level(logging.INFO)
    loop = asyncio.get_running_loop()
    async with digd.Run("r1", url=unused_address()) as run:
        first = await run.emit(["a"])
        begun = loop.time()
        for _ in range(100):
            assert (await run.emit(["a"])).as_is == "disconnected"
        assert loop.time() - begun < run._conversation.deadline_s  # none of the 100 waited for a deadline
    assert first.as_is == "disconnected" and run.counters.connections == 0
    (line,) = caplog.records
    assert "no daemon" in line.getMessage() and "unwatched" in line.getMessage()


@async_test
async def test_many_runs_without_a_daemon_log_one_line_until_one_of_them_connects(tmp_path, caplog):
    daemon = Daemon(tmp_path, listen=f"unix:{tmp_path}/s")
    for up in (False, True, False):
        if up:
            daemon.start()
        for _ in range(3):
            async with digd.Run(url=f"unix:{tmp_path}/s", agents=AB) as run:
                assert ((await run.emit(["a"])).as_is is None) == up
        if up:
            daemon.kill()
    lines = [r.getMessage() for r in caplog.records if r.name == "digd"]
    assert [("no daemon" in line, "connected to" in line) for line in lines] == [
        (True, False),
        (False, True),
        (True, False),
    ]


@async_test
async def test_a_run_that_ends_before_it_is_connected_is_still_reported(daemon):
    for i in range(20):
        async with digd.Run(f"r{i}", url=url_of(daemon), hold=False) as run:
            await run.emit(["a"])
        assert run.counters.connections == 1 and run._conversation.idle
    assert len(archived_messages(daemon, "event")) == 20


@pytest.mark.parametrize("turns", range(12))
@async_test
async def test_a_run_stops_at_any_moment_of_its_connection(daemon, turns):
    run = digd.Run("r1", url=url_of(daemon))
    run.open()
    for _ in range(turns):
        await asyncio.sleep(0)
    await run._session.stop()
    assert run._session._task.done()


@async_test
async def test_without_a_daemon_the_window_is_bounded():
    async with digd.Run("r1", url=unused_address(), max_buffer_bytes=100_000) as run:
        await run.emit(["a"])
        for _ in range(3000):
            await run.emit(["a"], payload="x" * 200)
        assert run._conversation.window.bytes <= 100_000 and len(run._conversation.window) <= 1024
        assert run.dropped > 2000


@async_test
async def test_a_daemon_that_starts_late_receives_the_queued_messages(tmp_path):
    daemon = Daemon(tmp_path, listen=f"unix:{tmp_path}/s")
    async with digd.Run("r1", url=f"unix:{tmp_path}/s", agents=AB) as run:
        task = await run.emit(["a"])
        assert task.as_is == "disconnected"
        with daemon:
            await wait_for(lambda: run.connected, "the connection")
            async with run.activation("a", [task]) as a:
                out = a.output(["ghost"])
            assert a.verdict(out).action == "reroute"
            assert await run.flush()
            assert run.counters.errors == {}


@async_test
async def test_a_run_continues_with_a_daemon_that_was_killed_and_restarted(tmp_path):
    with Daemon(tmp_path, listen=f"unix:{tmp_path}/s") as daemon:
        async with digd.Run("r1", url=f"unix:{tmp_path}/s", agents=AB) as run:
            task = await run.emit(["a"])
            activation = await run.start_activation("a", [task])
            for i in range(50):
                assert (await run.emit(["b"], source=activation, fyi=True)).as_is is None
                if i == 25:
                    await run.flush()
            daemon.kill()
            alone = [await run.emit(["b"], source=activation) for _ in range(20)]
            assert {v.as_is for v in alone[1:]} == {"disconnected"}
            daemon.start()
            await wait_for(lambda: run.connected, "the reconnection")
            (judged,) = await run.end_activation(activation, outputs=[digd.Event("last", ("ghost",))])
            assert (judged.action, judged.recipients) == ("reroute", ("a",))
            assert await run.flush()
            assert run.counters.errors == {} and run.dropped == 0
        assert [f["seq"] for f in archived_messages(daemon)] == list(range(1, run.counters.told + 1))


def is_stopped(pid):
    states = [stat.read_text().rsplit(")", 1)[1].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


@async_test
async def test_a_stopped_daemon_delays_an_event_by_one_deadline(tmp_path):
    with Daemon(tmp_path, "verdict_deadline_ms = 60\n") as daemon:
        async with run_at(daemon, "r1") as run:
            await run.emit(["a"])
            await wait_for(lambda: run.connected, "the connection")
            daemon.process.send_signal(signal.SIGSTOP)
            try:
                await wait_for(lambda: is_stopped(daemon.process.pid), "all threads to stop")
                async with run.activation("a") as a:
                    late = a.output(["ghost"])
                assert a.verdict(late).as_is == "timeout" and a.verdict(late).recipients == ("ghost",)
            finally:
                daemon.process.send_signal(signal.SIGCONT)
            assert await run.flush()
            await wait_for(lambda: run.counters.second_verdicts == 1, "the verdict that came too late")
        assert a.verdict(late).action == "deliver" and run.counters.errors == {}


@async_test
async def test_a_fail_closed_submit_event_waits_for_a_restarted_daemon(tmp_path):
    with Daemon(tmp_path, "verdict_deadline_ms = 1000\n", listen=f"unix:{tmp_path}/s") as daemon:
        async with digd.Run("r1", url=f"unix:{tmp_path}/s", agents=AB, fail_closed_ms=20_000) as run:
            task, other = await run.emit(["a"]), await run.emit(["b"])
            assert await run.flush()
            activation = await run.start_activation("a", [task])
            daemon.kill()
            await wait_for(lambda: not run.connected, "the loss")
            answering = asyncio.ensure_future(run.emit([], source=activation, submit=True))
            assert (await run.emit(["b"], source=activation)).as_is == "disconnected"
            assert not answering.done()
            daemon.start()
            answer = await answering
            assert answer.given_back and other.event in answer.detections[0].evidence


@async_test
async def test_events_beyond_the_credits_are_delivered_unchanged_and_a_gap_reports_them(tmp_path):
    with Daemon(tmp_path, "credits = 8\nverdict_deadline_ms = 60000\n") as daemon:
        async with run_at(daemon, "r1") as run:
            await run.emit(["a"], fyi=True)
            assert await run.flush()
            verdicts = await asyncio.gather(*(run.emit(["a"], fyi=True) for _ in range(40)))
            assert [v.as_is for v in verdicts[:6]] == [None] * 6
            assert {v.as_is for v in verdicts[6:]} == {"credits"}
            assert await run.flush()
            assert run.dropped == 34 and run.counters.errors == {}
            assert (await run.emit(["a"])).as_is is None
        assert [f["dropped"] for f in archived_messages(daemon, "gap")] == [34]


@async_test
async def test_a_dropped_activation_start_is_reported_later(tmp_path):
    with Daemon(tmp_path, "credits = 8\nverdict_deadline_ms = 60000\n") as daemon:
        async with run_at(daemon, "r1") as run:
            await run.emit(["a"])
            assert await run.flush()
            flood = [asyncio.ensure_future(run.emit(["b"], fyi=True)) for _ in range(20)]
            await asyncio.sleep(0)
            activation = await run.start_activation("a")
            assert run.dropped > 0
            await asyncio.gather(*flood)
            assert await run.flush()
            assert (await run.emit(["b"], source=activation)).as_is is None
            assert run.counters.errors == {}


# ---- interventions


SOON = {"deadlock": {"window_ms": 30, "max_attempts": 1}}


@async_test
async def test_an_intervention_is_carried_out_once_and_answered(daemon):
    done = []
    async with run_at(daemon, "r1", rules=SOON) as run:

        @run.on_intervention
        async def create(intervention):
            done.append(intervention)

        await run.emit(["a"])
        await wait_for(lambda: done, "the intervention")
        run._session.reconnect()
        await wait_for(lambda: run.counters.connections == 2 and run.connected, "the reconnection")
        (created,) = done
        assert (created.id, created.action, created.recipients) == ("sys:1", "create", ("a", "b")) and created.inject
        async with run.activation("a", [created]) as a:
            a.consume(created)
        assert await run.flush()
        assert len(done) == 1 and run.counters.errors == {}
    assert deliveries(daemon) == [("sys:1", "created")]


def deliveries(daemon):
    return [(f.get("of"), f["applied"]) for f in archived_messages(daemon, "delivery")]


@pytest.mark.parametrize(
    "result, applied",
    [(False, "unsupported"), (RuntimeError("no"), "failed"), ("created", "created"), (None, "created")],
)
@async_test
async def test_the_result_of_a_handler_is_reported(daemon, result, applied):
    async with run_at(daemon, "r1", rules=SOON) as run:
        called = asyncio.Event()

        @run.on_intervention("create")
        def create(intervention):
            called.set()
            if isinstance(result, Exception):
                raise result
            return result

        await run.emit(["a"])
        await asyncio.wait_for(called.wait(), 20)
        await wait_for(lambda: run.counters.told == 2, "the answer")
        assert await run.flush()
    assert deliveries(daemon) == [("sys:1", applied)]


@async_test
async def test_without_a_handler_the_hello_declares_no_create(daemon):
    async with run_at(daemon, "r1", rules=SOON) as run:
        await run.emit(["a"])
        assert await run.flush()
        can = {"inject": True, "reroute": True, "create": False, "hold": True, "cancel": False}
        assert run._conversation.hello["capabilities"] == can


# ---- refusals and modes


@async_test
async def test_a_wrong_token_is_logged_once_and_the_run_continues(tmp_path, caplog):
    token = "s" * 32
    digest = hashlib.sha256(token.encode()).hexdigest()
    (tmp_path / "tokens.toml").write_text(f'[[token]]\nname = "all"\nsha256 = "{digest}"\nrights = ["ingest"]\n')
    with Daemon(tmp_path, f'tokens = "{tmp_path}/tokens.toml"\nverdict_deadline_ms = 60000\n') as daemon:
        async with run_at(daemon, "r1", token=token) as run:
            assert (await run.emit(["a"])).as_is is None
        async with run_at(daemon, "r2", token="wrong") as run:
            assert (await run.emit(["a"])).as_is == "error:unauthorized"
    assert sum("refuses this client" in r.getMessage() for r in caplog.records) == 1


@async_test
async def test_over_tls_only_a_trusted_daemon_is_used(tmp_path):
    cert, key = certificate(tmp_path, "localhost")
    with Daemon(tmp_path, f'verdict_deadline_ms = 60000\n[tls]\ncertificate = "{cert}"\nkey = "{key}"\n') as daemon:
        url = f"wss://{daemon.address}"
        async with digd.Run("r1", url=url, agents=AB, tls_context=trusting(cert)) as run:
            assert (await run.emit(["a"])).as_is is None
        async with digd.Run("r2", url=url, agents=AB) as run:
            assert (await run.emit(["a"])).as_is == "disconnected"


@async_test
async def test_a_hello_that_contradicts_the_run_leaves_it_unwatched(daemon):
    async with run_at(daemon, "r1") as first:
        await first.emit(["a"])
        async with run_at(daemon, "r1", session="two", mode="observe", end_on_exit=False) as second:
            assert (await second.emit(["a"])).as_is == "error:hello_conflict"
        assert (await first.emit(["a"])).as_is is None


@async_test
async def test_a_replaced_session_leaves_the_older_client_unwatched(daemon):
    async with run_at(daemon, "r1", end_on_exit=False) as first:
        await first.emit(["a"], id="x1")
        assert await first.flush()
        async with run_at(daemon, "r1") as second:
            assert (await second.emit(["a"], id="x2")).as_is is None
            await wait_for(lambda: not first.connected, "the replacement")
            assert (await first.emit(["a"])).as_is == "error:replaced"


@async_test
async def test_two_sessions_feed_one_run(daemon):
    async with (
        run_at(daemon, "r1", session="one") as first,
        run_at(daemon, "r1", session="two", end_on_exit=False) as second,
    ):
        task = await first.emit(["b"])
        async with second.activation("b", [task]) as b:
            out = b.output(["nobody"])
        assert b.verdict(out).detections[0].session == "two"
        assert b.id.startswith("two/") and task.event.startswith("one/")


@async_test
async def test_mode_off_connects_to_nothing(daemon):
    async with run_at(daemon, "r1", mode="off") as run:
        assert (await run.emit(["a"])).as_is == "off"
    assert run.counters.connections == 0


@async_test
async def test_messages_of_one_turn_leave_in_one_write(daemon):
    async with run_at(daemon, "r1") as run:
        await run.emit(["a"])
        assert await run.flush()
        transport = run._session._link._transport
        writes, write = [], transport.write
        transport.write = lambda data: (writes.append(len(data)), write(data))[1]
        await asyncio.gather(*(run.emit(["a"]) for _ in range(100)))
        assert len(writes) == 1 and writes[0] > 100 * 60


# ---- threads


@async_test
async def test_flush_waits_for_messages_queued_meanwhile(daemon):
    async with digd.Run("r1", AB, url=url_of(daemon)) as run:

        class BusyEvent(asyncio.Event):
            """Queues another message at the moment when all are acked."""

            def set(self):
                if not self.is_set() and len(archived_messages) < 3:
                    archived_messages.append(asyncio.get_running_loop().call_soon(run.gap, 1))
                super().set()

        archived_messages = []
        run._session._idle = BusyEvent()
        await run.emit(["a"])
        assert await run.flush(20) and len(archived_messages) == 3


def test_a_run_for_threads_reports_events_and_gets_verdicts(daemon):
    done = []
    run = digd.sync.Run("r1", AB, url=url_of(daemon), rules={"deadlock": {"window_ms": 50, "max_attempts": 1}})
    run.on_intervention("create")(lambda i: done.append(i.id))
    with run:
        task = run.emit(["a"], payload={"n": 1})
        with pytest.raises(KeyError):
            with run.activation("a", [task]) as a:
                raise KeyError("gone")
        with run.activation("a", [task]) as a:
            a.wait(task)
            lost = a.output(["ghost"])
            assert a.emit(["b"]).action == "deliver"
        assert a.verdict(lost).recipients == ("a",)
        wait_until(lambda: done, "the intervention")
        assert run.flush() and run.connected and run.dropped == 0 and run.counters.errors == {}
        run.end("success")


def test_many_threads_share_a_run(daemon):
    import threading

    with digd.sync.Run("r1", AB, url=url_of(daemon)) as run:
        got = []

        def work():
            for _ in range(20):
                with run.activation("a") as a:
                    got.append(a.emit(["b"]).as_is)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert got == [None] * 160 and run.counters.errors == {}


FORKS = """
import gc, os, sys, warnings, digd
warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside a thread
with digd.sync.Run(agents=["a"], url=sys.argv[1]) as run:
    assert run.emit(["a"]).as_is is None
    child = os.fork()
    if child == 0:
        assert run.emit(["a"]).as_is == "forked" and not run.heals
        run.close()
        with digd.sync.Run(agents=["a"], url=sys.argv[1]) as own:
            assert own.emit(["a"]).as_is is None
        gc.collect()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert run.emit(["a"]).as_is is None
"""


def test_a_forked_child_neither_hangs_nor_uses_the_parents_run(daemon):
    done = subprocess.run([sys.executable, "-c", FORKS, url_of(daemon)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    ends = archived_messages(daemon, "run_ended")
    assert len(ends) == 2 and len(archived_messages(daemon, "event")) == 3
