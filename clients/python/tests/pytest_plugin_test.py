"""The pytest plugin: it fails a test whose runs show a failure that is not expected."""

import digd.pytest_plugin
import pytest
from live import Daemon

from client_helpers import unused_address, url_of

pytest_plugins = ["pytester"]

TESTS = """
import digd.sync
import pytest

def run(labels, recipient):
    with digd.sync.Run(agents=["a"], labels=labels, mode="observe") as run:
        event = run.emit([recipient])
        with run.activation("a", [event] if recipient == "a" else []) as a:
            a.output([], "answer", submit=True)

@pytest.mark.digd
def test_healthy(digd_label):
    run(digd_label, "a")

@pytest.mark.digd
def test_broken(digd_label):
    run(digd_label, "nobody")

@pytest.mark.digd(expect=["orphaned_event"])
def test_expected(digd_label):
    run(digd_label, "nobody")

@pytest.mark.digd(expect=["deadlock"])
def test_missing(digd_label):
    run(digd_label, "a")

@pytest.mark.digd
def test_without_run(digd_label):
    pass

@pytest.mark.digd
def test_without_label():
    pass

def test_without_marker(digd_label):
    run(digd_label, "nobody")
"""


def outcomes(pytester):
    pytester.makepyfile(TESTS)
    return pytester.runpytest_subprocess("-p", "digd.pytest_plugin", "-rA")


def test_a_test_fails_if_its_runs_show_a_failure(pytester, shared_daemon, monkeypatch):
    monkeypatch.setenv("DIGD_URL", url_of(shared_daemon))
    result = outcomes(pytester)
    result.assert_outcomes(passed=3, failed=4)
    for name in ("healthy", "expected", "without_marker"):
        result.stdout.fnmatch_lines([f"PASSED *test_{name}*"])
    result.stdout.fnmatch_lines(["*orphaned_event: *nobody*"])
    result.stdout.fnmatch_lines(["*deadlock was expected and did not fire*"])
    result.stdout.fnmatch_lines(["*digd saw no run of this test*"])
    result.stdout.fnmatch_lines(["*the marker digd needs the fixture digd_label*"])


def test_without_a_daemon_a_marked_test_fails(pytester, monkeypatch):
    monkeypatch.setenv("DIGD_URL", unused_address())
    result = outcomes(pytester)
    result.assert_outcomes(passed=1, failed=6)
    result.stdout.fnmatch_lines(["*digd cannot be asked about the runs of this test*"])


def test_a_daemon_behind_a_unix_socket_is_asked_through_it(pytester, tmp_path_factory, monkeypatch):
    address = f"unix:{tmp_path_factory.mktemp('u')}/s"
    monkeypatch.setenv("http_proxy", unused_address().replace("ws:", "http:"))
    with Daemon(tmp_path_factory.mktemp("d"), "threads = 2\n", listen=address):
        monkeypatch.setenv("DIGD_URL", address)
        outcomes(pytester).assert_outcomes(passed=3, failed=4)


def test_only_the_runs_of_a_test_cost_a_request(monkeypatch):
    runs = [
        {"run": "other", "labels": {"digd_test": "y"}},
        {"run": "plain", "labels": None},
        {"run": "my run", "labels": {"digd_test": "x"}},
    ]
    asked = []

    def get(path):
        asked.append(path)
        return {"runs": runs} if path.startswith("/v1/runs?") else {"detections": []}

    monkeypatch.setattr(digd.pytest_plugin, "_get", get)
    assert digd.pytest_plugin._failures("x") == (1, [])
    assert asked == ["/v1/runs?limit=500", "/v1/runs/my%20run/detections?limit=500"]
