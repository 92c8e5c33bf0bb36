"""Each attack of scripts/attack, for a moment: digd keeps working, and an innocent client misses no verdict."""

import pytest

from attack import BY_NAME, play


@pytest.mark.parametrize("name", BY_NAME)
def test_an_attack_costs_an_innocent_client_no_verdict(name):
    got = play(BY_NAME[name], seconds=0.5, processes=1)
    assert got.lost == 0 and got.works
