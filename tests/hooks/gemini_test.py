"""Gemini CLI, the real program or its recorded hook calls, with digd answering its hooks.

The program comes from npm (`npm install @google/gemini-cli@0.61.0`); $GEMINI_BIN names it.
"""

import pytest
from agent_programs import AgentWatched, play
from claude_code_test import events, rules, starts, the_one_run
from fake_model import Call


@pytest.fixture
def gemini(daemon):
    return AgentWatched(daemon, "gemini")


def agent(part):
    return Call("invoke_agent", {"agent_name": "generalist", "prompt": f"[[part:{part}]] work"})


def result(text):
    return Call("complete_task", {"result": {"response": text}})


LIST = Call("list_directory", {"dir_path": "."})
TWO = {
    "main": [[agent("a"), agent("b")], ["All done."]],
    "a": [[LIST], [result("result a")]],
    "b": [[result("result b")]],
}
FAILED = {"main": [[agent("a")], ["Done without it."], ["It failed."]], "a": [[""]]}


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_gemini_with_two_subagents_fires_nothing(gemini, tmp_path, mode):
    session = play("two", tmp_path, gemini, mode, TWO)
    run = the_one_run(gemini)
    assert session.changed == []
    assert gemini.detections(run) == []
    assert run["ended"] == "success"
    trace = gemini.trace(run)
    tasks = [event for event in events(trace).values() if event.get("kind") == "task"]
    assert len({task["recipients"][0] for task in tasks}) == 2
    for task in tasks:
        (child,) = [line for line in starts(trace) if task["id"] in line["inputs"]]
        (end,) = [line for line in trace if line.get("activation") == child["activation"] and line.get("outputs")]
        assert [output["payload"]["text"] for output in end["outputs"]] == [f"result {task['payload']['text'][7]}"]
    results = {event["id"] for event in events(trace).values() if event.get("kind") == "result"}
    assert results <= {each for line in starts(trace) if line["agent"] == "main" for each in line["inputs"]}
    if session.is_real:
        assert session.result == "All done."


def test_gemini_that_ignores_a_failed_subagent_answers_early(gemini, tmp_path):
    session = play("failed", tmp_path, gemini, "shadow", FAILED)
    run = the_one_run(gemini)
    assert rules(gemini.detections(run)) == ["early_termination"]
    assert [line["error"] for line in gemini.trace(run) if line.get("failed")] == ["it ended without a message"]
    assert session.changed == []


def test_enforced_gemini_is_notified_of_the_failed_subagent_once(gemini, tmp_path):
    session = play("failed_enforced", tmp_path, gemini, "enforce", FAILED)
    (found,) = gemini.detections(the_one_run(gemini))
    assert (found["rule"], found["healed"]) == ("early_termination", True)
    (answer,) = session.changed
    assert answer["decision"] == "deny"
    if session.is_real:
        assert session.result.endswith("It failed.")
