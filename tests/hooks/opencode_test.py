"""opencode, the real program or its recorded hook calls, with digd answering its plugin.

The program comes from npm (`npm install opencode-ai@1.18.33`); $OPENCODE_BIN names it.
"""

import pytest
from agent_programs import AgentWatched, play
from attach_test import digctl
from claude_code_test import events, rules, starts, the_one_run
from fake_model import Call


@pytest.fixture
def opencode(daemon):
    return AgentWatched(daemon, "opencode")


def agent(part, kind="general"):
    return Call("task", {"subagent_type": kind, "description": part, "prompt": f"[[part:{part}]] work"})


SHELL = Call("bash", {"command": "echo hi", "description": "greets"})
TWO = {"main": [[agent("a"), agent("b")], ["All done."]], "a": [[SHELL], ["result a"]], "b": [["result b"]]}
EMPTY = {"main": [[agent("a")], ["Done without it."]], "a": [[""]]}
UNKNOWN = {"main": [[agent("a", "no-such")], [agent("b", "no-such")], ["All done."]]}


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_opencode_with_two_subagents_fires_nothing(opencode, tmp_path, mode):
    session = play("two", tmp_path, opencode, mode, TWO)
    run = the_one_run(opencode)
    assert session.changed == []
    assert opencode.detections(run) == []
    trace = opencode.trace(run)
    tasks = [event for event in events(trace).values() if event.get("kind") == "task"]
    assert len({task["recipients"][0] for task in tasks}) == 2
    for task in tasks:
        (child,) = [line for line in starts(trace) if task["id"] in line["inputs"]]
        (end,) = [line for line in trace if line.get("activation") == child["activation"] and line.get("outputs")]
        assert [output["payload"]["text"] for output in end["outputs"]] == [f"result {task['payload']['text'][7]}"]
    (answer,) = [event for event in events(trace).values() if event.get("kind") == "answer"]
    assert answer["payload"]["text"] == "All done."
    assert trace[0]["labels"]["model"] == "fake"
    if session.is_real:
        assert session.result == "All done."


def test_opencode_that_ignores_an_empty_result_answers_early(opencode, tmp_path):
    session = play("empty", tmp_path, opencode, "enforce", EMPTY)
    (found,) = opencode.detections(the_one_run(opencode))
    assert found["rule"] == "early_termination"
    assert session.changed == [], "the program cannot go on after an answer"


def test_a_task_for_an_agent_that_opencode_lacks_goes_back_the_second_time(opencode, tmp_path):
    session = play("unknown_enforced", tmp_path, opencode, "enforce", UNKNOWN)
    found = opencode.detections(the_one_run(opencode))
    assert rules(found) == ["orphaned_event"]
    (answer,) = session.changed
    assert "no-such" in answer["deny"]


def test_attach_writes_removes_and_spares_files_of_others(tmp_path):
    plugin = tmp_path / ".config" / "opencode" / "plugins" / "digd.js"
    assert digctl("attach", "opencode", "--dry-run", cwd=tmp_path).returncode == 0
    assert not plugin.exists()
    assert digctl("attach", "opencode", cwd=tmp_path).returncode == 0
    assert '"http://127.0.0.1:7344/v1/hooks/opencode?mode=shadow"' in plugin.read_text()
    assert "needs no change" in digctl("attach", "opencode", cwd=tmp_path).stderr
    assert digctl("attach", "opencode", "enforce", cwd=tmp_path).returncode == 0
    assert "mode=enforce" in plugin.read_text()
    assert digctl("attach", "opencode", "--remove", cwd=tmp_path).returncode == 0
    assert not plugin.exists()
    plugin.write_text("// mine\n")
    assert digctl("attach", "opencode", cwd=tmp_path).returncode == 2
    assert plugin.read_text() == "// mine\n"
