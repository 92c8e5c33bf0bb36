"""A run that requested `shadow` follows the mode of the welcome: the operator's canary may enforce it."""

import pytest

import digd
from client_helpers import async_test, url_of
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
