"""The examples of the framework adapters, run as a user runs them."""

import os
import subprocess
import sys

import pytest

from client_helpers import ROOT, url_of
from live import WITHIN


def run_example(daemon, name):
    done = subprocess.run([sys.executable, str(ROOT / "examples" / name)], env={**os.environ, "DIGD_URL": url_of(daemon)},
                          capture_output=True, text=True, timeout=6 * WITHIN)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name, told, answer", [
    ("openai_agents_early_answer.py", "was not accepted yet", "the answer: A report with 42 sources."),
    ("autogen_swarm.py", "Do not pass it on again", "the answer: ann: Then I do it. DONE"),
])
def test_an_example_shows_what_its_first_lines_say(shared_daemon, name, told, answer):
    printed = run_example(shared_daemon, name)
    assert told in printed and answer in printed
