"""`/v1/runs/ID/attribution`: digd ranks the suspects of a run in a process with few rights."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from live import DIGCTL, DIGD, TIMEOUT_S, Daemon, wait_until
from token_access import TOKENS, guarded, status_of
from watching import ask, get, metric, run_path


# The sanitized core has no digctl. A digctl that cannot attribute makes the tests fail.
pytestmark = pytest.mark.skipif(not Path(DIGD).with_name("digctl").exists(), reason="no digctl beside digd")


def failed_run(daemon, run="r1"):
    c = daemon.client(run, agents=["planner", "coder", "tester"])
    c.event("task", ["planner"], event={"payload": {"text": "Compute 6 times 7 and print the product."}})
    for i, (agent, to, text) in enumerate(
        [
            ("planner", "coder", "Please multiply 6 by 7."),
            ("coder", "tester", "Error: exception in line 3, the result is 41."),
            ("tester", "planner", "The result 41 is wrong; I give up."),
        ]
    ):
        c.start(f"v{i}", agent, ["task" if i == 0 else f"e{i - 1}"])
        c.end(f"v{i}", [{"id": f"e{i}", "recipients": [to], "payload": {"text": text}}])
    c.tell("run_ended", outcome="failure")
    c.wait_acked()


def start(daemon, run="r1"):
    status, body, _ = ask(daemon, "POST", run_path(run, "attribution"))
    return status, json.loads(body)


def finished(daemon, run="r1", within=TIMEOUT_S):
    def over():
        state = get(daemon, run_path(run, "attribution"))
        return state if state["state"] in ("done", "failed") else None

    return wait_until(over, "the attribution", within)


def test_the_answer_is_that_of_digctl(tmp_path):
    with Daemon(tmp_path) as daemon:
        failed_run(daemon)
        assert get(daemon, run_path("r1", "attribution"))["state"] == "none"
        status, state = start(daemon)
        assert status == 200 and state["state"] in ("reading", "ranking", "done")
        state = finished(daemon)
        assert state["state"] == "done", repr(state)
        trace = tmp_path / "trace.jsonl"
        trace.write_bytes(ask(daemon, "GET", run_path("r1", "trace"))[1])
        command = [DIGCTL, "attribute", "chief", str(trace), "--format", "json", "--brief"]
        expected = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        assert state["answer"]["verdict"] == expected["verdict"]
        assert state["answer"]["ranking"] == expected["ranking"]
        assert state["read"] == state["messages"] and 0 < state["ms"] <= state["max_ms"]
        assert metric(daemon, "digd_attributions_total") == 1
        assert metric(daemon, "digd_attributions_failed_total") == 0


class DaemonWithSlowDigctl(Daemon):
    """A copy of digd. The digctl beside it reads the run and gives no answer."""

    def command(self):
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        shutil.copy(DIGD, programs / "digd")
        digctl = programs / "digctl"
        digctl.write_text("#!/bin/sh\n/bin/cat >/dev/null\nexec /bin/sleep 1000\n")
        digctl.chmod(0o755)
        return [str(programs / "digd"), *super().command()[1:]]


def test_one_attribution_runs_at_a_time(tmp_path):
    with DaemonWithSlowDigctl(tmp_path) as daemon:
        failed_run(daemon, "first")
        failed_run(daemon, "second")
        assert start(daemon, "first")[0] == 200
        status, error = start(daemon, "second")
        assert status == 503 and "another attribution runs" in error["error"]["message"]
        assert metric(daemon, "digd_attributions_refused_total") == 1
        wait_until(lambda: get(daemon, run_path("first", "attribution"))["state"] == "ranking", "the end of reading")
        # Deleting the run ends its process, and another may begin.
        wait_until(lambda: ask(daemon, "DELETE", run_path("first"))[0] == 204, "the deletion")
        wait_until(lambda: start(daemon, "second")[0] == 200, "the end of the process")


def send_long_run(daemon, run, events):
    agents = ["planner", "researcher", "coder", "tester"]
    lines = [{"type": "hello", "protocol": 1, "run": run, "agents": agents, "clock": "trace"}]
    task = {"id": "e0", "recipients": ["planner"], "payload": {"text": "Count 'it'."}}
    lines.append({"type": "event", "event": task})
    for i in range(events):
        text = f"Therefore value_{i % 700}={i * 7} as Document{i % 911} says, not {i // 3}."
        output = {"id": f"e{i + 1}", "recipients": [agents[(i + 1) % 4]], "payload": {"text": text}}
        lines.append({"type": "activation_started", "activation": f"v{i}", "agent": agents[i % 4], "inputs": [f"e{i}"]})
        lines.append({"type": "activation_ended", "activation": f"v{i}", "outputs": [output]})
    lines.append({"type": "run_ended", "outcome": "failure"})
    trace = Path(daemon.data).with_name(f"{run}.jsonl")
    trace.write_text("".join(json.dumps({**line, "seq": i, "ts": i}) + "\n" for i, line in enumerate(lines)))
    sent = [DIGCTL, "send", str(trace), "--to", f"ws://{daemon.address}", "--speed", "1000000", "--format", "jsonl"]
    subprocess.run(sent, stdout=subprocess.DEVNULL, check=True, timeout=300)


def children_s(daemon):
    """The processor time of the daemon's processes that have ended, in seconds."""
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def test_the_time_of_a_ranking_grows_with_the_events_and_not_their_square(tmp_path):
    with Daemon(tmp_path) as daemon:
        took_s = {}
        for events in (4_000, 20_000):
            run = f"long-{events}"
            send_long_run(daemon, run, events)
            before_s = children_s(daemon)
            assert start(daemon, run)[0] == 200
            state = finished(daemon, run, within=300)
            assert state["state"] == "done", repr(state)
            assert len(state["answer"]["ranking"]) > 0
            took_s[events] = children_s(daemon) - before_s
        assert 0 < took_s[20_000] < 12 * took_s[4_000], took_s  # linear: 5 times; quadratic: 25 times


def test_an_attribution_of_an_unknown_run_is_refused(tmp_path):
    with Daemon(tmp_path) as daemon:
        assert ask(daemon, "POST", run_path("nobody", "attribution"))[0] == 404
        assert ask(daemon, "GET", run_path("nobody", "attribution"))[0] == 404


def test_starting_it_needs_the_right_to_operate(tmp_path):
    with guarded(tmp_path) as daemon:
        assert status_of(daemon, "/v1/runs/prod-1/attribution", TOKENS["watcher"][0], "POST")[0] == 403
        assert status_of(daemon, "/v1/runs/prod-1/attribution", TOKENS["watcher"][0])[0] == 404
        assert status_of(daemon, "/v1/runs/other/attribution", TOKENS["some"][0], "POST")[0] == 403


def test_a_run_without_steps_fails_with_a_sentence(tmp_path):
    with Daemon(tmp_path) as daemon:
        c = daemon.client("empty", agents=["a"])
        c.tell("run_ended", outcome="failure")
        c.wait_acked()
        assert start(daemon, "empty")[0] == 200
        state = finished(daemon, "empty")
        assert state["state"] == "failed" and state["problem"], state
        assert metric(daemon, "digd_attributions_failed_total") == 1

