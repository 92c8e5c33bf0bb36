"""pytest: fails a test whose digd runs show a failure. docs/clients-python.md describes it.

    @pytest.mark.digd                       no run of this test may show a failure
    @pytest.mark.digd(expect=["deadlock"])  exactly these failures are expected
    async def test_the_team_answers(digd_label): …

Pass `labels=digd_label` to each run of the test. The plugin finds the runs by it.
"""

from __future__ import annotations

import functools
import http.client
import json
import socket
import urllib.parse
import urllib.request
import uuid
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from .options import bearer_token, daemon_address

LABEL = "digd_test"
MAX_PAGES = 10  # of 500 runs or detections each
TIMEOUT_S = 10.0


@pytest.fixture
def digd_label(request: pytest.FixtureRequest) -> dict[str, str]:
    """Labels that mark a run as this test's."""
    labels: dict[str, str] = {LABEL: uuid.uuid4().hex}
    setattr(request.node, "digd_label", labels)
    return labels


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "digd(expect=()): fails the test if its digd runs show other failures")


def _pages(path: str, name: str) -> Iterator[Any]:
    """The entries of a list of the daemon's HTTP API."""
    cursor = ""
    for _ in range(MAX_PAGES):
        page = _get(f"{path}?limit=500{cursor}")
        yield from page[name]
        if not page.get("next"):
            return
        cursor = "&cursor=" + urllib.parse.quote(page["next"], safe="")


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path: str, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _SocketHandler(urllib.request.HTTPHandler):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        connection: Any = functools.partial(_SocketConnection, self._path)
        return self.do_open(connection, req)


def _get(path: str) -> Any:
    """Raises OSError and ValueError."""
    address = daemon_address(None)
    token = bearer_token(None)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request("http" + address.origin.removeprefix("ws") + path, headers=headers)
    opener = urllib.request.build_opener()
    if address.socket_path is not None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _SocketHandler(address.socket_path))
    with opener.open(request, timeout=TIMEOUT_S) as response:
        return json.load(response)


def _failures(label: str) -> tuple[int, list[tuple[str, str]]]:
    """The number of runs with this label, and the rule and text of each failure in them."""
    runs, found = 0, []
    for run in _pages("/v1/runs", "runs"):
        if (run.get("labels") or {}).get(LABEL) != label:
            continue
        runs += 1
        path = f"/v1/runs/{urllib.parse.quote(run['run'], safe='')}"
        for entry in _pages(f"{path}/detections", "detections"):
            detection = entry["detection"]
            if detection["severity"] == "failure":
                found.append((detection["rule"], f"run {run['run']}: {detection['rule']}: {detection['reason']}"))
    return runs, found


def _complaint(label: str, expect: set[str]) -> str | None:
    """Why the test fails; None if its runs are as expected."""
    try:
        runs, found = _failures(label)
    except (OSError, ValueError, KeyError) as error:
        return f"digd cannot be asked about the runs of this test: {error}"
    if runs == 0:
        return "digd saw no run of this test; pass labels=digd_label to the run, and check DIGD_URL"
    lines = [text for rule, text in found if rule not in expect]
    lines += [f"{rule} was expected and did not fire" for rule in sorted(expect - {rule for rule, _ in found})]
    return "\n".join(lines) or None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    result = yield
    marker = item.get_closest_marker("digd")
    if marker is not None:
        labels = getattr(item, "digd_label", None)
        complaint = (
            "the marker digd needs the fixture digd_label"
            if labels is None
            else _complaint(labels[LABEL], set(marker.kwargs.get("expect", ())))
        )
        if complaint is not None:
            pytest.fail(complaint, pytrace=False)
    return result
