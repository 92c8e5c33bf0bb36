"""Claude Code, the real program, with digd answering its hooks. Scenarios of docs/coding-agents.md."""

import json
import urllib.parse
import urllib.request

import pytest
from coding_agent import play, post, program
from fake_model import SUMMARIZE, After, Call, Tokens
from live import wait_until

REAL = pytest.mark.skipif(program() is None, reason="needs the real program: its own behaviour is what is tested")


def agent(part, type="general-purpose", **more):
    """A spawn of a subagent that plays a part."""
    return Call("Agent", {"description": part, "prompt": f"[[part:{part}]] work", "subagent_type": type, **more})


def command(text):
    return Call("Bash", {"command": text, "description": "a command"})


THREE = {
    "main": [[agent("a"), agent("b"), agent("c")], ["They work."], ["All done."]],
    "a": [[command("echo a")], ["result a"]],
    "b": [[command("echo b")], ["result b"]],
    "c": [[command("echo c")], ["result c"]],
}

WAITS = {"run_in_background": False}
# After the second subagent the prompt is as large as the model allows, so the program compacts the conversation. It
# keeps one reply, so the part of the summary begins at its second.
COMPACTED = {
    "main": [[agent("a", **WAITS)], [agent("b", **WAITS), Tokens(999_000)]],
    "main-summary": [["a and b have worked. [[part:rest]]"]],
    "rest": [[], [agent("c", **WAITS)], ["All done."]],
    **{name: [[f"result {name}"]] for name in "abc"},
}


class Watched:
    """The daemon's view of the sessions."""

    def __init__(self, daemon):
        self.daemon = daemon

    def url(self, mode="shadow"):
        return f"http://{self.daemon.address}/v1/hooks/claude-code?mode={mode}"

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.daemon.address}{path}") as response:
            return response.read().decode()

    def runs(self):
        """The runs, first to last, once all have ended."""

        def ended():
            runs = json.loads(self.get("/v1/runs"))["runs"]
            return runs if runs and all(run["state"] == "ended" for run in runs) else None

        return sorted(wait_until(ended, "the runs to end"), key=lambda run: run["number"])

    def trace(self, run):
        name = urllib.parse.quote(run["run"], safe="")
        return [json.loads(line) for line in self.get(f"/v1/runs/{name}/trace").splitlines()]

    def detections(self, run):
        name = urllib.parse.quote(run["run"], safe="")
        listed = json.loads(self.get(f"/v1/runs/{name}/detections"))["detections"]
        return [each["detection"] for each in listed]

    def metric(self, name):
        for line in self.get("/metrics").splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")


@pytest.fixture
def watched(daemon):
    return Watched(daemon)


def rules(detections):
    return [detection["rule"] for detection in detections]


def starts(trace):
    return [line for line in trace if line["type"] == "activation_started"]


def events(trace):
    """All events of a trace by id."""
    drafts = [line["event"] for line in trace if line["type"] == "event"]
    drafts += [output for line in trace for output in line.get("outputs", [])]
    return {draft["id"]: draft for draft in drafts}


def the_one_run(watched):
    (run,) = watched.runs()
    assert run["counts"]["refused"] == 0
    return run


# ---- healthy


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_three_parallel_subagents_fire_nothing_and_change_nothing(watched, tmp_path, mode):
    session = play("three", tmp_path, watched.url(mode), THREE)
    run = the_one_run(watched)
    assert session.changed == []
    assert watched.detections(run) == []
    assert run["ended"] == "success"
    trace = watched.trace(run)
    tasks = [event for event in events(trace).values() if event.get("kind") == "task"]
    assert sorted(task["payload"]["text"] for task in tasks) == [f"[[part:{part}]] work" for part in "abc"]
    assert len({task["recipients"][0] for task in tasks}) == 3, "children of one type have their own names"
    for task in tasks:  # each result is derived from its own task
        (child,) = [line for line in starts(trace) if task["id"] in line["inputs"]]
        ends = [line for line in trace if line["type"] == "activation_ended"]
        (end,) = [line for line in ends if line["activation"] == child["activation"]]
        part = task["payload"]["text"][7]
        assert [output["payload"]["text"] for output in end["outputs"]] == [f"result {part}"]
    assert [event["payload"]["text"] for event in events(trace).values() if event.get("submit")] == ["All done."]
    if session.is_real:
        assert session.result == "All done."


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_a_conversation_that_is_compacted_in_the_middle_fires_nothing(watched, tmp_path, mode):
    session = play("compacted", tmp_path, watched.url(mode), COMPACTED)
    run = the_one_run(watched)
    assert session.changed == []
    assert (run["ended"], watched.detections(run)) == ("success", [])
    tasks = [event for event in events(watched.trace(run)).values() if event.get("kind") == "task"]
    assert [task["payload"]["text"] for task in tasks] == [f"[[part:{part}]] work" for part in "abc"]
    if session.is_real:
        assert session.result == "All done."
        asked = [json.dumps(request["messages"][-1]) for request in session.model.seen_by("main")]
        assert any(SUMMARIZE in text for text in asked)


def test_nested_subagents_are_distinguished_from_their_parents(watched, tmp_path):
    parts = {
        "main": [[agent("a"), agent("b")], ["They work."], ["All done."]],
        "a": [[agent("a1"), agent("a2")], ["result a"]],
        "a1": [["result a1"]],
        "a2": [["result a2"]],
        "b": [["result b"]],
    }
    play("nested", tmp_path, watched.url(), parts)
    run = the_one_run(watched)
    assert watched.detections(run) == []
    trace = watched.trace(run)
    to = {e["payload"]["text"]: e["recipients"] for e in events(trace).values() if e.get("kind") == "result"}
    task_of = {e["payload"]["text"]: e["recipients"] for e in events(trace).values() if e.get("kind") == "task"}
    assert to["result a"] == to["result b"] == ["main"]
    assert to["result a1"] == to["result a2"] == task_of["[[part:a]] work"]


@pytest.mark.parametrize("order", [["a1", "a2"], ["a2", "a1"]])
@pytest.mark.parametrize("is_started_late", [False, True])
def test_two_subagents_of_a_type_may_start_and_end_in_any_order(watched, order, is_started_late):
    """Only PostToolUse says which call an agent belongs to. The first agent may have ended before."""

    def call(hook, **fields):
        post(watched.url(), {"session_id": "s1", "prompt_id": "p1", "hook_event_name": hook, **fields})

    def start(agent):
        call("SubagentStart", agent_id=agent, agent_type="general-purpose")

    def end(agent):
        call("SubagentStop", agent_id=agent, last_assistant_message=f"result {agent}")
        call("PostToolUse", tool_name="Agent", tool_use_id=f"call {agent}",
             tool_response={"status": "completed", "agentId": agent, "content": [{"type": "text", "text": "result"}]})

    call("UserPromptSubmit", prompt="go")
    for agent in ("a1", "a2"):
        call("PreToolUse", tool_name="Agent", tool_use_id=f"call {agent}",
             tool_input={"subagent_type": "general-purpose", "prompt": f"work of {agent}"})
    start(order[0])
    if is_started_late:
        end(order[0])
    start(order[1])
    if not is_started_late:
        end(order[0])
    end(order[1])
    call("Stop", last_assistant_message="Done.", stop_hook_active=False)
    call("SessionEnd", reason="other")
    run = the_one_run(watched)
    assert (run["ended"], watched.detections(run)) == ("success", [])
    trace = watched.trace(run)
    assert len([line for line in trace if line["type"] == "activation_ended" and line.get("failed")]) == 0
    inputs = [e for line in starts(trace) for e in line["inputs"]]
    assert {e["payload"]["text"] for e in events(trace).values() if e["id"] in inputs} >= {
        "result a1", "result a2", "work of a1", "work of a2",
    }  # fmt: skip


def test_a_subagent_that_gets_a_message_goes_on(watched, tmp_path):
    message = Call("SendMessage", {"to": "helper", "message": "more", "summary": "more"})
    parts = {
        "main": [[agent("a", name="helper")], ["It works."], [message], ["It works again."], ["All done."]],
        "a": [["result 1"], ["result 2"]],
    }
    play("message", tmp_path, watched.url(), parts)
    run = the_one_run(watched)
    assert watched.detections(run) == []
    trace = watched.trace(run)
    (sent,) = [event for event in events(trace).values() if event.get("kind") == "message"]
    assert sent["recipients"] == ["helper"]
    assert any(line["agent"] == "helper" and line["inputs"] == [sent["id"]] for line in starts(trace))


def test_a_subagent_that_writes_to_another_gets_its_answer(watched, tmp_path):
    message = Call("SendMessage", {"to": "carl", "message": "more", "summary": "more"})
    parts = {
        "main": [[agent("c", name="carl")], ["It works."], [agent("b", name="bob")], ["It works too."], ["All done."]],
        "c": [["result 1"], [command("echo c")], ["result 2"]],
        "b": [[message], [After("c", 2), command("sleep 1")], [command("echo b")], ["result b"]],
    }
    play("answer", tmp_path, watched.url(), parts)
    run = the_one_run(watched)
    assert watched.detections(run) == []
    assert run["ended"] == "success"
    trace = watched.trace(run)
    (answer,) = [e for e in events(trace).values() if e["payload"]["text"] == "result 2"]
    assert answer["recipients"] == ["bob"]
    assert any(line["agent"] == "bob" and answer["id"] in line["inputs"] for line in starts(trace))


def test_a_message_to_a_subagent_at_work_does_not_change_who_gets_its_result(watched, tmp_path):
    message = Call("SendMessage", {"to": "carl", "message": "more", "summary": "more"})
    parts = {
        "main": [[agent("c", name="carl"), agent("b", name="bob")], ["They work."], ["All done."]],
        "c": [[command("sleep 3")], ["result c"]],
        "b": [[message], [command("sleep 4")], ["result b"]],
    }
    play("busy", tmp_path, watched.url(), parts)
    run = the_one_run(watched)
    assert watched.detections(run) == []
    assert run["ended"] == "success"
    (result,) = [e for e in events(watched.trace(run)).values() if e["payload"]["text"] == "result c"]
    assert result["recipients"] == ["main"]


def test_prompts_of_a_resumed_session_are_runs_of_one_session(watched, tmp_path):
    message = Call("SendMessage", {"to": "helper", "message": "more", "summary": "more"})
    parts = {
        "main": [[agent("a", name="helper")], ["It works."], ["First."], [message], ["It works again."], ["Second."]],
        # Not before the main agent has reacted to its tool's result.
        "a": [[After("main", 1), "result 1"], [After("main", 4), "result 2"]],
    }
    session = play("resumed", tmp_path, watched.url(), parts, resumes=("again",))
    first, second = watched.runs()
    assert first["labels"]["session"] == second["labels"]["session"]
    assert first["run"] != second["run"]
    assert [watched.detections(run) for run in (first, second)] == [[], []]
    assert [run["ended"] for run in (first, second)] == ["success", "success"]
    answers = [[e["payload"]["text"] for e in events(watched.trace(run)).values() if e.get("submit")]
               for run in (first, second)]  # fmt: skip
    assert answers == [["First."], ["Second."]]
    assert session.changed == []


# ---- failures


def test_a_spawn_to_an_unknown_type_is_an_orphan_the_second_time(watched, tmp_path):
    parts = {"main": [[agent("a", "no-such-type")], [agent("b", "no-such-type")], ["done"]]}
    session = play("unknown_type", tmp_path, watched.url(), parts)
    run = the_one_run(watched)
    (found,) = watched.detections(run)
    assert (found["rule"], found["evidence"], found["cause"]) == ("orphaned_event", ["no-such-type"], "mode")
    assert session.changed == []


def test_enforced_a_spawn_to_an_unknown_type_goes_back_to_its_caller(watched, tmp_path):
    parts = {"main": [[agent("a", "no-such-type")], [agent("b", "no-such-type")], ["done"]]}
    session = play("unknown_type_enforced", tmp_path, watched.url("enforce"), parts)
    (found,) = watched.detections(the_one_run(watched))
    assert (found["rule"], found["healed"], found["healing"]) == ("orphaned_event", True, "reroute")
    (answer,) = session.changed
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    reason = answer["hookSpecificOutput"]["permissionDecisionReason"]
    if session.is_real:  # the reason reached the model as the tool's result
        assert reason in session.model.requests[-1]["messages"][-1]["content"][0]["content"]


EMPTY = {"main": [[agent("a")], ["It works."], ["done"], ["done without it"]], "a": [[""]]}


def test_an_answer_without_the_work_of_an_empty_subagent_is_early(watched, tmp_path):
    session = play("empty", tmp_path, watched.url(), EMPTY)
    run = the_one_run(watched)
    (found,) = watched.detections(run)
    assert (found["rule"], found["cause"]) == ("early_termination", "mode")
    assert found["evidence"] == [e["id"] for e in events(watched.trace(run)).values() if e.get("kind") == "task"]
    assert session.changed == []


def test_enforced_the_parent_hears_that_a_subagent_came_back_empty_and_may_then_stop(watched, tmp_path):
    session = play("empty_enforced", tmp_path, watched.url("enforce"), EMPTY)
    run = the_one_run(watched)
    (found,) = watched.detections(run)
    assert (found["rule"], found["healed"]) == ("early_termination", True)
    (answer,) = session.changed
    assert answer["decision"] == "block"
    assert run["ended"] == "success"
    if session.is_real:
        assert answer["reason"] in json.dumps(session.model.requests[-1], ensure_ascii=False).replace('\\"', '"')
        assert session.result == "done without it"


def test_a_session_that_ends_while_a_subagent_works_is_reported(watched):
    """A parent that stops while work is open. The program waits for its subagents, so the session is cut off."""
    calls = [
        {"hook_event_name": "UserPromptSubmit", "prompt": "go"},
        {
            "hook_event_name": "PreToolUse",
            "tool_name": "Agent",
            "tool_use_id": "t1",
            "tool_input": {"subagent_type": "general-purpose", "prompt": "work"},
        },
        {"hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "general-purpose"},
        {
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": "It works.",
            "background_tasks": [{"id": "a1", "type": "subagent", "status": "running"}],
        },
        {"hook_event_name": "SessionEnd", "reason": "other"},
    ]
    for call in calls:
        assert post(watched.url(), {"session_id": "s1", "prompt_id": "p1", "cwd": "/x", **call}).answer == {}
    run = the_one_run(watched)
    assert run["ended"] == "failure"
    assert rules(watched.detections(run)) == ["deadlock"]
    settings = watched.trace(run)[0]["rules"]
    assert [settings[rule]["window_ms"] for rule in ("deadlock", "missing_termination")] == [600_000, 600_000]


def test_only_background_agents_of_the_main_agent_have_to_be_listed(watched):
    """The program lists no agents in the foreground; one that it lists no more was stopped, and so were its own."""

    def call(hook, **fields):
        post(watched.url(), {"session_id": "s1", "prompt_id": "p1", "hook_event_name": hook, **fields})

    def spawn(tool_use, **fields):
        call("PreToolUse", tool_name="Agent", tool_use_id=tool_use, tool_input={"prompt": tool_use}, **fields)

    call("UserPromptSubmit", prompt="go")
    spawn("t1")
    call("SubagentStart", agent_id="a1", agent_type="general-purpose")
    call(
        "PostToolUse",
        tool_name="Agent",
        tool_use_id="t1",
        tool_response={"agentId": "a1", "status": "async_launched"},
    )
    spawn("t2", agent_id="a1")
    call("SubagentStart", agent_id="a2", agent_type="general-purpose")
    running = [{"id": "a1", "type": "subagent", "status": "running"}]
    call("Stop", last_assistant_message="They work.", background_tasks=running)
    call("UserPromptSubmit", prompt="stop them")
    call("Stop", last_assistant_message="Stopped.", background_tasks=[])
    call("SessionEnd")
    trace = watched.trace(the_one_run(watched))
    failed = [line for line in trace if line.get("failed")]
    assert [line["error"] for line in failed] == ["it no longer runs"] * 2
    asked = [line["seq"] for line in trace if line.get("event", {}).get("kind") == "prompt"]
    assert all(line["seq"] > asked[1] for line in failed), "both were at work when the first turn ended"


# ---- the daemon, gone or refusing


@REAL
def test_the_session_goes_on_when_the_daemon_is_killed_in_the_middle(watched, daemon, tmp_path):
    def kill_before_the_first_result(call):
        if call["hook_event_name"] == "SubagentStop" and daemon.process.poll() is None:
            daemon.kill()

    session = play("killed", tmp_path, watched.url("enforce"), THREE, kill_before_the_first_result)
    assert session.result == "All done."
    assert any(hook.status == 0 for hook in session.hooks)
    assert session.changed == []


def test_after_a_restart_a_session_continues_its_run_after_a_gap(watched, daemon):
    head = {"session_id": "s1", "prompt_id": "p1", "cwd": "/x"}
    spawn = {"hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_input": {"prompt": "work"}}
    post(watched.url(), {**head, "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    wait_until(lambda: json.loads(watched.get("/v1/runs"))["runs"], "the run in the archive")
    assert daemon.stop() == 0
    daemon.start()
    assert post(watched.url(), {**head, **spawn, "tool_use_id": "t2"}).status == 200
    assert post(watched.url(), {**head, "hook_event_name": "SessionEnd"}).status == 200
    run = the_one_run(watched)
    assert run["run"] == "s1/p1"
    types = [line["type"] for line in watched.trace(run)]
    assert types.index("gap") > types.index("activation_started")


def test_malformed_calls_are_refused_and_unknown_hooks_accepted(watched):
    head = {"session_id": "s1", "hook_event_name": "SomethingNew", "a_new_field": [1, {"x": None}]}
    assert (post(watched.url(), head).status, post(watched.url(), head).answer) == (200, {})
    for wrong in [[], {}, {"hook_event_name": "Stop"}, {"hook_event_name": "Stop", "session_id": "s" * 129}]:
        assert post(watched.url(), wrong).status == 400
    assert post(watched.url().replace("claude-code", "nobody"), head).status == 404
    assert post(watched.url("loud"), head).status == 400
    assert watched.metric("digd_hook_unknown_total") == 2
    assert watched.metric("digd_hook_malformed_total") == 4


def test_a_hostile_order_of_calls_is_answered_and_nothing_is_refused(watched):
    """Calls that make no sense, in every order of three: each is answered with nothing to do."""
    kinds = "UserPromptSubmit PreToolUse PostToolUse SubagentStart SubagentStop Stop SessionEnd".split()
    number = 0
    for first in kinds:
        for second in kinds:
            for third in kinds:
                if "SessionEnd" in (first, second):
                    continue
                number += 1
                for hook in (first, second, third):
                    call = {
                        "session_id": f"s{number}",
                        "prompt_id": "p",
                        "hook_event_name": hook,
                        "prompt": "go",
                        "tool_name": "Agent",
                        "tool_use_id": "t1",
                        "tool_input": {"prompt": 7},
                        "agent_id": "a1" if "Sub" in hook else "",
                        "last_assistant_message": "x",
                        "background_tasks": "none",
                    }
                    assert post(watched.url(), call).answer == {}
    for run in json.loads(watched.get("/v1/runs?limit=500"))["runs"]:
        assert run["counts"]["refused"] == 0, run
