"""Calls of digctl causal, for its tests."""

import json


def causal(digctl, *args, **options):
    return digctl("causal", *args, **options)


def explained(digctl, *args):
    got = causal(digctl, "explain", *args, "--format", "json", "--permutations", 199)
    assert got.returncode == 0, got.stderr
    return json.loads(got.stdout)
