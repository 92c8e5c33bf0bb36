"""Every rule and guard on sessions of coding agents: hook calls that fire it, and a healthy session that does not.

Two rules cannot fire on sessions, because of how hook calls become messages. The last test holds that to be true.
"""

import json
import signal
import time
from dataclasses import dataclass

import pytest
from claude_code_test import Watched, rules
from coding_agent import RECORDED, post
from live import Daemon, wait_until

PROMPT = {"hook_event_name": "UserPromptSubmit", "prompt": "go"}
DONE = {"hook_event_name": "Stop", "last_assistant_message": "done"}
END = {"hook_event_name": "SessionEnd"}


def tool(hook, name, use, tool_input, agent="", **more):
    call = {"hook_event_name": hook, "tool_name": name, "tool_use_id": use, "tool_input": tool_input, **more}
    return call | ({"agent_id": agent} if agent else {})


def spawn(number, kind="general-purpose", **more):
    """A subagent a1, a2, … is asked for, and begins."""
    task = {"subagent_type": kind, "prompt": f"work {number}", **more}
    return [
        tool("PreToolUse", "Agent", f"t{number}", task),
        {"hook_event_name": "SubagentStart", "agent_id": f"a{number}", "agent_type": kind},
        tool("PostToolUse", "Agent", f"t{number}", task,
             tool_response={"status": "async_launched", "agentId": f"a{number}"}),
    ]  # fmt: skip


def ends(number, result="result"):
    notice = f"<task-notification><task-id>a{number}</task-id></task-notification>"
    return [
        {"hook_event_name": "SubagentStop", "agent_id": f"a{number}", "last_assistant_message": result},
        {"hook_event_name": "UserPromptSubmit", "prompt": notice},
    ]


def unknown(number):
    """A subagent of a type that the program does not know."""
    task = {"subagent_type": "no-such", "prompt": "work"}
    error = "Agent type 'no-such' not found. Available agents: general-purpose"
    use = f"u{number}"
    return [tool("PreToolUse", "Agent", use, task), tool("PostToolUseFailure", "Agent", use, task, error=error)]


def message(use, sender, to, is_read):
    """A message; a receiver at work reads it at once."""
    response = {"success": True} if is_read else {"success": True, "resumedAgentId": to}
    sent = {"to": to, "message": use}
    return [
        tool("PreToolUse", "SendMessage", use, sent, sender),
        tool("PostToolUse", "SendMessage", use, sent, sender, tool_response=response),
    ]


def shell(command, number, agent=""):
    return [tool(hook, "Bash", f"b{number}", {"command": command}, agent) for hook in ("PreToolUse", "PostToolUse")]


def woken_by_a_command(name):
    """A background command wakes the main agent in a run of its own, while a subagent from before is at work."""
    notice = "<task-notification><task-id>b1</task-id></task-notification>"
    working = tool("PreToolUse", "Bash", "x1", {"command": "make"}, "a9", agent_type="worker")
    running = [{"id": "a9", "type": "subagent", "status": "running"}]
    main_waits = {"hook_event_name": "Stop", "last_assistant_message": name, "background_tasks": running}
    return [{"hook_event_name": "UserPromptSubmit", "prompt": notice}, working, main_waits]


@dataclass
class Case:
    fires: list  # hook calls on which the rule fires
    healthy: list  # and those on which it does not, with the same configuration
    guard: str = ""


TWO_SENDERS = [PROMPT, *spawn(1), *spawn(2), *spawn(3, name="carl"), *ends(3)]
# The last agent to write to carl gets his answer, and reads it with its next step.
LAST_ENDS = [*ends(3), *shell("make", 9, "a2"), *ends(1), *ends(2), DONE, END]
CASES = {
    "early_termination": Case(
        [PROMPT, *spawn(1), *ends(1, ""), DONE, END],
        [PROMPT, *spawn(1), *ends(1), DONE, END],
    ),
    "orphaned_event": Case(
        [PROMPT, *unknown(1), *unknown(2), DONE, END],
        [PROMPT, *unknown(1), *spawn(1), *ends(1), DONE, END],
    ),
    # Two agents of different origin write to an agent that has not read yet.
    "cross_lineage_aggregation": Case(
        [*TWO_SENDERS, *message("m1", "a1", "a2", True), *message("m2", "a1", "carl", False),
         *message("m3", "a2", "carl", False), *spawn(3)[1:2], *LAST_ENDS],
        [*TWO_SENDERS, *message("m1", "a2", "a1", True), *message("m2", "a2", "carl", False),
         *message("m3", "a2", "carl", False), *spawn(3)[1:2], *LAST_ENDS],
    ),
    "deadlock": Case(
        [PROMPT, *spawn(1), {**DONE, "background_tasks": [{"id": "a1", "type": "subagent", "status": "running"}]}, END],
        [PROMPT, *spawn(1), *ends(1), DONE, END],
    ),
    "missing_termination": Case(
        [*woken_by_a_command("waits"), END],
        [*woken_by_a_command("waits"), {"hook_event_name": "SubagentStop", "agent_id": "a9",
         "last_assistant_message": "built"}, {"hook_event_name": "UserPromptSubmit",
         "prompt": "<task-notification><task-id>a9</task-id></task-notification>"}, DONE, END],
    ),
    "budget": Case(
        [PROMPT, *shell("one", 1), *shell("two", 2), DONE, END],
        [PROMPT, *shell("one", 1), DONE, END],
        "[guards.budget]\nmax_tool_calls = 1\nwarn_at = 1.0",
    ),
    "fan_out": Case(
        [PROMPT, *spawn(1), *spawn(2), *ends(1), *ends(2), DONE, END],
        [PROMPT, *spawn(1), *ends(1), *spawn(2), *ends(2), DONE, END],
        "[guards.fan_out]\nmax_outputs = 1",
    ),
    "repetition": Case(
        [PROMPT, *shell("make", 1), *shell("make", 2), DONE, END],
        [PROMPT, *shell("make", 1), *shell("make check", 2), DONE, END],
        "[guards.repetition]\nmax_repeats = 1",
    ),
}  # fmt: skip
CONFIG = "threads = 1\nverdict_deadline_ms = 20000\n"


def play(watched, session, calls):
    head = {"session_id": session, "prompt_id": "p1", "cwd": "/home/dev/project"}
    for call in calls:
        assert post(watched.url(), {**head, **call}).status == 200


def found_in(watched, session):
    def ended():
        runs = json.loads(watched.get("/v1/runs"))["runs"]
        return [run for run in runs if run["run"].startswith(session + "/") and run["state"] == "ended"]

    (run,) = wait_until(ended, "the run to end")
    assert run["counts"]["refused"] == 0
    return watched.detections(run)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_fires_on_its_session_and_on_no_healthy_one(tmp_path, name):
    case = CASES[name]
    with Daemon(tmp_path / "daemon", f"{CONFIG}{case.guard}\n") as daemon:
        watched = Watched(daemon)
        play(watched, "fires", case.fires)
        play(watched, "healthy", case.healthy)
        assert rules(found_in(watched, "fires")) == [name]
        assert found_in(watched, "healthy") == []


def test_the_guard_stall_reports_a_subagent_that_stays_silent(tmp_path):
    with Daemon(tmp_path / "daemon", f"{CONFIG}[guards.stall]\nafter_ms = 100\n") as daemon:
        watched = Watched(daemon)
        play(watched, "fires", [PROMPT, *spawn(1)])
        (run,) = wait_until(lambda: json.loads(watched.get("/v1/runs"))["runs"], "the run")
        found = wait_until(lambda: watched.detections(run), "the report")
        assert set(rules(found)) == {"stall"}
        assert {each["agent"] for each in found} <= {"main", "general-purpose#1"}
        play(watched, "healthy", [PROMPT, DONE, END])  # a run that has ended is not silent
        play(watched, "fires", [*ends(1), DONE, END])
        assert found_in(watched, "healthy") == []


def reactions_of(trace, wanted):
    return [
        event
        for line in trace
        for event, reaction in line.get("reactions", {}).items()
        if wanted in reaction or (wanted == "reroute" and isinstance(reaction, dict))
    ]


def test_no_session_reroutes_an_event_or_lets_two_agents_consume_it(tmp_path):
    """So `excessive_rerouting` and `repeated_subproblem` cannot fire: all recorded sessions of the programs."""
    with Daemon(tmp_path / "daemon", CONFIG) as daemon:
        for record in sorted(RECORDED.glob("*.jsonl")):
            program = record.stem.split("_")[0]
            if program not in ("codex", "gemini", "opencode"):
                program = "claude-code"
            url = f"http://{daemon.address}/v1/hooks/{program}?mode=shadow"
            for line in record.read_text().splitlines():
                assert post(url, json.loads(line)).status == 200, record
        watched = Watched(daemon)
        runs = watched.runs()
        assert len(runs) >= 10
        for run in runs:
            trace = watched.trace(run)
            assert reactions_of(trace, "reroute") == []
            work = {line["event"]["id"] for line in trace if line["type"] == "event" and not line["event"].get("fyi")}
            inputs = {line["activation"]: line["inputs"] for line in trace if line["type"] == "activation_started"}
            consumed = []
            for line in trace:
                if line["type"] != "activation_ended" or line.get("failed"):
                    continue
                kept = line.get("reactions", {})
                consumed += [event for event in inputs[line["activation"]] if event in work and event not in kept]
            assert len(consumed) == len(set(consumed)), run["run"]


def test_holds_that_expire_together_are_released_one_after_another(tmp_path):
    """While the daemon is stopped, the time of both holds passes. The session's home is the thread of the run."""
    config = "threads = 1\n[guards]\nhold_ms = 1000\n[guards.fan_out]\nmax_outputs = 1\naction = 'hold'\n"
    with Daemon(tmp_path / "daemon", config) as daemon:
        watched = Watched(daemon)
        head = {"session_id": "s1", "prompt_id": "p1"}
        post(watched.url("enforce"), {**head, **PROMPT})
        for use in ("t1", "t2", "t3"):
            asked = post(watched.url("enforce"), {**head, **tool("PreToolUse", "Agent", use, {"prompt": "work"})})
        assert asked.answer["hookSpecificOutput"]["permissionDecision"] == "ask"
        wait_until(lambda: json.loads(watched.get("/v1/holds"))["holds"][1:], "both holds")
        wait_until(lambda: json.loads(watched.get("/v1/runs"))["runs"], "the run to be durable")
        daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        daemon.process.send_signal(signal.SIGCONT)

        def released():
            lines = watched.trace({"run": "s1/p1"})
            return {line["of"] for line in lines if line.get("applied") == "released"} == {"hold:1", "hold:2"}

        wait_until(released, "the holds to be released")
        assert daemon.stop() == 0
