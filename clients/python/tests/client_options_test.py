"""The options of a run from its caller and the environment, and the bounds on healing."""

import asyncio
import logging
import threading

import pytest

import digd
from addresses import MALFORMED_ADDRESSES
from client_helpers import async_test, unused_address, wait_for, url_of
from digd.adapter import resolve_mode
from digd.options import Address, daemon_address, parse_address
from framework_runs import fired

AB = ["a", "b"]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("DIGD_MODE", raising=False)
    monkeypatch.delenv("DIGD_URL", raising=False)


def lines(caplog, level=logging.INFO):
    return [r.getMessage() for r in caplog.records if r.name == "digd" and r.levelno >= level]


async def send_to_ghost(run, task):
    """Sends an output to a missing agent. Returns the verdict on it.

    Waits for the connection first: without one, a client holds a message for a quarter of a second only.
    """
    if run.mode != "off":
        await wait_for(lambda: run.connected, "the connection")
    async with run.activation("a", [task]) as a:
        lost = a.output(["ghost"])
    return a.verdict(lost)


# ---- the address


@pytest.mark.parametrize(
    "text, address",
    [
        ("localhost:7344", Address("localhost", 7344)),
        ("ws://10.0.0.1:1", Address("10.0.0.1", 1)),
        ("wss://digd.example:443", Address("digd.example", 443, tls=True)),
        ("ws://[::1]:7344", Address("[::1]", 7344)),
        ("[::1]:7344", Address("[::1]", 7344)),
        ("unix:/run/digd/socket", Address(socket_path="/run/digd/socket")),
    ],
)
def test_the_four_forms_of_an_address_are_read(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize("text", MALFORMED_ADDRESSES)
def test_any_other_address_is_an_error_that_names_the_forms(text):
    with pytest.raises(ValueError, match="url: .*HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH") as raised:
        digd.Run(url=text)
    assert repr(text) in str(raised.value)
    with pytest.raises(ValueError):
        digd.sync.Run(url=text)


def test_a_bad_address_in_the_environment_is_an_error_that_names_the_variable(monkeypatch):
    monkeypatch.setenv("DIGD_URL", "http://localhost:7344")
    with pytest.raises(ValueError, match="DIGD_URL: 'http://localhost:7344'"):
        digd.Run()
    assert digd.Run(url="localhost:1")._session.target.address == Address("localhost", 1)


def test_an_empty_variable_counts_as_none(monkeypatch):
    monkeypatch.setenv("DIGD_URL", "")
    monkeypatch.setenv("DIGD_MODE", "")
    assert daemon_address(None) == Address("127.0.0.1", 7344)
    assert digd.Run().mode is None and resolve_mode() == "shadow"


# ---- the mode


@pytest.mark.parametrize(
    "variable, argument, run_mode, adapter_mode",
    [
        (None, None, None, "shadow"),
        (None, "enforce", "enforce", "enforce"),
        ("enforce", None, "enforce", "enforce"),
        ("off", "observe", "observe", "observe"),
        ("off", None, "off", "off"),
    ],
)
def test_the_argument_overrides_the_variable_and_the_variable_the_default(
    monkeypatch, variable, argument, run_mode, adapter_mode
):
    if variable is not None:
        monkeypatch.setenv("DIGD_MODE", variable)
    assert resolve_mode(argument) == adapter_mode
    run = digd.Run(mode=argument)
    assert run.mode == run_mode
    run.adapter_defaults("zoo")
    assert run.mode == adapter_mode


def test_a_bad_mode_is_an_error(monkeypatch):
    for make in (digd.Run, digd.sync.Run, resolve_mode):
        with pytest.raises(ValueError, match="mode: 'heal' is not a mode; expected off, observe, shadow or enforce"):
            make(mode="heal")
    monkeypatch.setenv("DIGD_MODE", "on")
    for make in (digd.Run, digd.sync.Run, resolve_mode):
        with pytest.raises(ValueError, match="DIGD_MODE: 'on' is not a mode"):
            make()


def test_a_negative_bound_is_an_error():
    for name in ("max_added_ms", "max_returns_per_agent"):
        with pytest.raises(ValueError, match=name):
            digd.Run(**{name: -1})


@async_test
async def test_an_adapter_sets_a_run_without_a_mode_to_shadow(daemon):
    async with digd.Run(agents=AB, url=url_of(daemon)) as run:
        run.adapter_defaults("zoo")
        verdict = await send_to_ghost(run, await run.emit(["a"]))
        assert run.welcome["mode"] == "shadow" and not run.heals
        assert run._conversation.hello["client"]["name"] == "digd-zoo"
    assert (verdict.action, verdict.as_is, [d.cause for d in verdict.detections]) == ("deliver", None, ["mode"])


@async_test
async def test_an_adapter_attached_after_the_hello_changes_nothing(daemon, caplog):
    caplog.set_level(logging.INFO)
    async with digd.Run(agents=AB, url=url_of(daemon)) as run:
        task = await run.emit(["a"])
        assert run.welcome["mode"] == "enforce" and run.heals
        run.adapter_defaults("zoo")
        verdict = await send_to_ghost(run, task)
        assert (verdict.action, verdict.recipients, verdict.as_is) == ("deliver", ("ghost",), "shadow")
        assert verdict.detections[0].rule == "orphaned_event" and not run.heals
    assert "would have healed 1 times (orphaned_event 1)" in lines(caplog)[-1]


@async_test
async def test_a_run_without_an_adapter_keeps_the_daemons_mode(daemon):
    async with digd.Run(agents=AB, url=url_of(daemon)) as run:
        assert (await send_to_ghost(run, await run.emit(["a"]))).action == "reroute"
        assert run.mode is None and run.heals


# ---- off


@async_test
async def test_off_starts_no_task_and_logs_nothing(caplog):
    caplog.set_level(logging.DEBUG)
    tasks, threads = asyncio.all_tasks(), threading.active_count()
    async with digd.Run(agents=AB, url=unused_address(), mode="off") as run:
        verdict = await send_to_ghost(run, await run.emit(["a"]))
        run.applied(verdict, verdict)
        await run.agent_joined("c")
        assert await run.flush()
        assert asyncio.all_tasks() == tasks and threading.active_count() == threads
    assert verdict.as_is == "off" and not run.heals and run.counters.connections == 0
    assert run._conversation._settled == [] and len(run._conversation.window) == 0
    assert [r for r in caplog.records if r.name == "digd"] == []


def test_off_starts_no_thread(monkeypatch):
    monkeypatch.setattr(digd.sync, "background_loop", lambda: pytest.fail("a run in mode off starts a loop"))
    with digd.sync.Run(agents=AB, url=unused_address(), mode="off") as run:
        with run.activation("a", [run.emit(["a"])]) as a:
            lost = a.output(["ghost"])
        assert a.verdict(lost).as_is == "off" and run.flush()
        assert run.submit(run.aio.emit(["a"])).result().as_is == "off"
        run.tick(1)
        run.end("success")


# ---- bounds


@async_test
async def test_the_hello_contains_the_bound_on_returns():
    run = digd.Run(healing={"budget": 7}, max_returns_per_agent=2)
    assert run._conversation.hello["healing"] == {"budget": 7, "max_returns_per_agent": 2}
    assert "healing" not in digd.Run()._conversation.hello


@async_test
async def test_healing_stops_after_three_failed_attempts_and_logs_it_once(daemon, caplog):
    async with digd.Run("r1", agents=AB, url=url_of(daemon), mode="enforce") as run:
        task = await run.emit(["a"])
        for attempt in range(3):
            verdict = await send_to_ghost(run, task)
            assert verdict.action == "reroute" and run.heals
            run.applied(verdict, verdict, as_is="no such node")
        assert not run.heals
        later = [await send_to_ghost(run, task) for _ in range(4)]
        assert {(v.action, v.recipients, v.as_is) for v in later} == {("deliver", ("ghost",), "healing_failed")}
        await run.end("success")
    (line,) = lines(caplog)
    assert "3 of digd's decisions" in line and "no such node" in line
    found = fired(daemon, "r1", "orphaned_event")
    assert [d["cause"] for d in found] == [None] * 3 + ["as_is"] * 4


@async_test
async def test_handlers_that_fail_count_as_failed_attempts_too(daemon, caplog):
    rules = {"deadlock": {"window_ms": 30, "max_attempts": 4}}
    async with digd.Run(agents=AB, url=url_of(daemon), rules=rules, mode="enforce") as run:
        run.on_intervention("create")(lambda intervention: False)
        await run.emit(["a"])
        await wait_for(lambda: not run.heals, "the third failure")
        assert (await send_to_ghost(run, await run.emit(["a"]))).as_is == "healing_failed"
    assert sum("3 of digd's decisions" in line for line in lines(caplog)) == 1


@async_test
async def test_successful_healings_do_not_count_as_failed(daemon):
    async with digd.Run(agents=AB, url=url_of(daemon), mode="enforce", max_returns_per_agent=100) as run:
        task = await run.emit(["a"])
        for _ in range(4):
            verdict = await send_to_ghost(run, task)
            run.applied(verdict, verdict)
            run.applied(task, task, as_is="nothing to do")
        assert run.heals and verdict.action == "reroute"


@async_test
async def test_after_the_added_time_messages_are_not_held(daemon, caplog):
    async with digd.Run("r1", agents=AB, url=url_of(daemon), mode="enforce", max_added_ms=0) as run:
        await wait_for(lambda: run.connected, "the connection")
        verdict = await send_to_ghost(run, await run.emit(["a"]))
        await send_to_ghost(run, await run.emit(["a"]))
        assert (verdict.action, verdict.as_is) == ("deliver", "max_added_ms") and not run.heals
        await run.end("success")
    assert [d["cause"] for d in fired(daemon, "r1", "orphaned_event")] == ["as_is"] * 2
    (line,) = lines(caplog)
    assert "max_added_ms" in line


# ---- the log line at the end, and run ids


@async_test
async def test_a_healthy_run_logs_nothing(daemon, caplog):
    caplog.set_level(logging.INFO)
    for mode in ("observe", "shadow", "enforce"):
        async with digd.Run(agents=AB, url=url_of(daemon), mode=mode) as run:
            async with run.activation("a", [await run.emit(["a"])]) as a:
                a.output(submit=True)
            assert a.verdicts[0].as_is is None
    assert lines(caplog) == []


@async_test
async def test_a_shadow_run_that_would_have_been_healed_logs_one_line(daemon, caplog):
    caplog.set_level(logging.INFO)
    async with digd.Run("r1", agents=AB, url=url_of(daemon), mode="shadow") as run:
        task = await run.emit(["a"])
        async with run.activation("a", [task]) as a:
            a.output(["ghost"])
            a.output(["ghost"])
    (line,) = lines(caplog)
    assert "run r1" in line and "would have healed 2 times (orphaned_event 2)" in line
    assert 'mode="enforce"' in line and "DIGD_MODE=enforce" in line


@async_test
async def test_a_healed_run_logs_one_line(daemon, caplog):
    caplog.set_level(logging.INFO)
    async with digd.Run("r1", agents=AB, url=url_of(daemon), mode="enforce") as run:
        done, lost = await send_to_ghost(run, await run.emit(["a"])), await send_to_ghost(run, await run.emit(["a"]))
        run.applied(done, done)
        run.applied(lost, lost, as_is="too late")
    (line,) = lines(caplog)
    assert "run r1: healed 1 times (orphaned_event 1)" in line


@pytest.mark.parametrize(
    "again, cause",
    [
        ({}, "belongs to another run"),
        ({"session": "two"}, "belongs to another run"),
        ({"mode": "shadow"}, "is in use with other settings"),
    ],
)
@async_test
async def test_a_used_run_id_logs_one_line_with_the_remedy(daemon, caplog, again, cause):
    caplog.set_level(logging.INFO)
    for options in ({}, again):
        async with digd.Run("r1", agents=AB, url=url_of(daemon), **options) as run:
            task = await run.emit(["a"])
            async with run.activation("a", [task]) as a:
                a.output(submit=True)
            await run.end("success")
    assert task.as_is.startswith("error:") and run._conversation.closed
    (line,) = lines(caplog)
    assert f"run id 'r1' {cause}" in line and "Leave the run id out" in line


@async_test
async def test_a_session_that_continues_is_not_a_used_run_id(daemon, caplog):
    for first in (True, False):
        async with digd.Run("r1", agents=AB, url=url_of(daemon), end_on_exit=False) as run:
            assert (await run.emit(["a"], id=f"mine-{first}")).as_is is None
    assert lines(caplog) == []
