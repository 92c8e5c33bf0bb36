"""Prices of the configuration: digd computes what tokens cost, once, when it takes the message in."""

import json
import subprocess

import pytest

from live import DIGD, Daemon
from watching import ask, get, run_path

PRICES = '[prices."large"]\ninput = 2.5\noutput = 10\n\n[prices."*"]\ninput = 1\noutput = 4.0\n'
CAPABLE = {"capabilities": {"hold": True, "cancel": True, "reroute": True}, "agents": ["a", "b"]}


def spend(c, **usage):
    return c.tell("usage", activation="v1", usage=usage)


def started(c):
    c.event("e1", ["a"])
    c.start("v1", "a", ["e1"])


def cost(daemon):
    return get(daemon, run_path("r1", "usage"))["totals"]["cost"]


def test_tokens_have_the_prices_of_the_configuration(tmp_path):
    with Daemon(tmp_path, PRICES) as daemon:
        with daemon.client(**CAPABLE) as c:
            started(c)
            spend(c, input_tokens=2_000_000, models={"large": {"input_tokens": 2_000_000}})
            spend(c, output_tokens=1_000_000)
            spend(c, input_tokens=5_000_000, cost=0.25)
            c.wait_acked()
            assert cost(daemon) == 5 + 4 + 0.25
            stored = ask(daemon, "GET", run_path("r1", "trace"))[1].decode()
    reports = [m["usage"] for m in map(json.loads, stored.splitlines()) if m["type"] == "usage"]
    assert [u["cost"] for u in reports] == [5, 4, 0.25]
    with Daemon(tmp_path, PRICES.replace("2.5", "1000")) as daemon:  # the record has the cost, not the price
        assert cost(daemon) == 9.25
        with daemon.client(**CAPABLE) as c:
            assert c.welcome["acked_seq"] == 5


def test_a_budget_holds_with_computed_costs(tmp_path):
    with Daemon(tmp_path, "[guards.budget]\nmax_cost = 5.0\n\n" + PRICES) as daemon, daemon.client(**CAPABLE) as c:
        started(c)
        spend(c, input_tokens=2_400_000, models={"large": {"input_tokens": 2_400_000}})
        c.event("e2", ["b"], source="v1")
        (verdict,) = c.verdicts()
        assert verdict["action"] == "reroute"


def checked(tmp_path, text):
    config = tmp_path / "digd.toml"
    config.write_text(text)
    return subprocess.run([DIGD, "--check-config", "--config", str(config)], capture_output=True, text=True)


def test_the_effective_configuration_has_the_prices_and_is_a_configuration(tmp_path):
    first = checked(tmp_path, PRICES + "[prices.'a \"quoted\" name']\ninput = 0\noutput = 0.15\n")
    assert first.returncode == 0 and '[prices."large"]\ninput = 2.5\noutput = 10\n' in first.stdout
    again = checked(tmp_path, first.stdout)
    assert (again.returncode, again.stdout) == (0, first.stdout)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("prices = 3", "must be written [prices"),
        ('[prices."m"]\ninput = 1', "needs `input` and `output`"),
        ('[prices."m"]\ninput = 1\noutput = -1', "must be a number from 0 to 1000000000"),
        ('[prices."m"]\ninput = "1"\noutput = 1', "must be a number from 0 to 1000000000"),
        ('[prices."m"]\ninput = 1\noutput = 1\ncached = 1', 'has no option "cached"'),
        ('[prices.""]\ninput = 1\noutput = 1', "1 to 256 bytes"),
    ],
)
def test_a_wrong_price_is_named_with_its_place(tmp_path, text, problem):
    got = checked(tmp_path, text)
    assert got.returncode != 0 and problem in got.stderr and "digd.toml:" in got.stderr
