"""A run that requested `shadow` follows the mode of the welcome: the operator's canary may enforce it."""

import pytest

import digd
import digd.autogen
from client_helpers import async_test, url_of, wait_for
from live import Daemon


@pytest.fixture(
    params=[("enforce_share = 1\n", "enforce"), ("enforce_share = 0\n", "shadow")], ids=["drawn", "no canary"]
)
def canary(tmp_path, request):
    config, mode = request.param
    with Daemon(tmp_path / "d", config) as daemon:
        yield daemon, mode


@async_test
async def test_the_run_of_an_adapter_follows_the_mode_of_the_welcome(canary, monkeypatch):
    monkeypatch.delenv("DIGD_MODE", raising=False)
    daemon, mode = canary
    run = digd.Run(agents=["a", "b"], url=url_of(daemon))
    run.adapter_defaults("test")
    assert run.mode == "shadow" and not run.heals  # before the welcome
    async with run:
        task = await run.emit(["a"])
        assert run.welcome["mode"] == mode and run.heals == (mode == "enforce")
        async with run.activation("a", [task]) as a:
            lost = a.output(["ghost"])
        assert a.verdict(lost).action == ("reroute" if mode == "enforce" else "deliver")


@async_test
async def test_a_runtime_of_autogen_holds_messages_once_the_welcome_enforces(canary, monkeypatch):
    monkeypatch.delenv("DIGD_MODE", raising=False)
    daemon, mode = canary
    async with digd.Run(url=url_of(daemon)) as run:
        digd.autogen.Runtime(run)
        assert (await run.emit(["a"])).as_is == "unheld"
        await wait_for(lambda: run.connected, "the connection")
        assert (await run.emit(["a"])).as_is == (None if mode == "enforce" else "unheld")
