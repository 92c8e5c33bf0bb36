"""The examples and the README's sample work as described, with and without a daemon, and repeatedly."""

import os
import re
import subprocess
import sys

import pytest

from client_helpers import ROOT, unused_address, url_of

DIG = "import sys; sys.path.insert(0, {tests!r}); import dig_double; sys.modules['dig'] = dig_double; "


def run(name, url, *command):
    done = subprocess.run(
        [sys.executable, *(command or [str(ROOT / "examples" / name)])],
        capture_output=True,
        text=True,
        env={**os.environ, "DIGD_URL": url},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    "name, healed, lost",
    [
        ("python_team.py", "   from digd: Your event", "   lost: 'try it' for 'tester'"),
        ("langgraph_healed.py", "coder answers", "result: over to the programmer"),
        (
            "openai_agents_early_answer.py",
            "the answer: A report with 42 sources.",
            "the answer: A report without any source.",
        ),
        ("autogen_swarm.py", "the end: cid: Then I do it.", "the end: cid: Transferred to ann"),
    ],
)
def test_an_example_is_healed_with_a_daemon_and_runs_without_one(daemon, name, healed, lost):
    for _ in range(2):
        with_daemon, _ = run(name, url_of(daemon))
        assert healed in with_daemon and lost not in with_daemon
    without, log = run(name, unused_address())
    assert lost in without and healed not in without
    assert log.count("no daemon") == 1


def readme_sample():
    (code,) = [
        c for c in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S) if "digd.Run(" in c
    ]
    return code


def test_the_readme_sample_runs_with_and_without_a_daemon(daemon):
    for _ in range(2):
        output, log = run("README.md", url_of(daemon), "-c", readme_sample())
        assert "plannr" in output and log == ""
    output, log = run("README.md", unused_address(), "-c", readme_sample())
    assert output == "" and log.count("no daemon") == 1


def test_the_dig_example_streams_each_time(daemon):
    tests = str(ROOT / "clients" / "python" / "tests")
    code = DIG.format(tests=tests) + f"exec(open({str(ROOT / 'examples' / 'dig_attached.py')!r}).read())"
    outputs = {run("dig_attached.py", url_of(daemon), "-c", code)[0] for _ in range(2)}
    assert len(outputs) == 2
    for output in outputs:
        assert output.split()[-1] in daemon.log_text()
