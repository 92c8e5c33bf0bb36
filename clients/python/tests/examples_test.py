"""The examples and the README's lines do what they say, with a daemon and without."""

import os
import subprocess
import sys

import pytest

from client_helpers import ROOT, nobody, url_of

DIG = "import sys; sys.path.insert(0, {tests!r}); import dig_double; sys.modules['dig'] = dig_double; "


def run(name, url, *command):
    done = subprocess.run([sys.executable, *(command or [str(ROOT / "examples" / name)])], capture_output=True, text=True,
                          env={**os.environ, "DIGD_URL": url}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("name, healed, lost", [
    ("python_team.py", "   told: Your event", "   lost: 'try it' for 'tester'"),
    ("langgraph_healed.py", "coder answers", "result: over to the programmer"),
    ("openai_agents_early_answer.py", "the answer: A report with 42 sources.", "the answer: A report without any source."),
    ("autogen_swarm.py", "the end: ann: Then I do it.", "the end: cid: Transferred to ann")])
def test_an_example_is_healed_with_a_daemon_and_goes_on_without(daemon, name, healed, lost):
    with_daemon, _ = run(name, url_of(daemon))
    without, log = run(name, nobody())
    assert healed in with_daemon and lost not in with_daemon
    assert lost in without and healed not in without
    assert log.count("no daemon") == 1


def test_the_library_of_the_paper_streams(daemon):
    tests = str(ROOT / "clients" / "python" / "tests")
    code = DIG.format(tests=tests) + f"exec(open({str(ROOT / 'examples' / 'dig_attached.py')!r}).read())"
    run("dig_attached.py", url_of(daemon), "-c", code)
    assert "hello-dig" in daemon.log_text()
