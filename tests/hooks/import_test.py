"""digctl import claude-code: the logs of real sessions become traces with the facts that the hooks reported."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from claude_code_test import COMPACTED, THREE, agent, events, starts
from coding_agent import program, run_program, without_paths
from fake_model import Model
from live import DIGCTL

LOGS = Path(__file__).parent / "recorded_logs"
SESSIONS = {
    "three": THREE,
    "empty": {"main": [[agent("a")], ["It works."], ["done"]], "a": [[""]]},
    "foreground": {
        "main": [[agent("a", run_in_background=False), agent("b", run_in_background=False)], ["All done."]],
        "a": [["result a"]],
        "b": [["result b"]],
    },
    "compacted": COMPACTED,
}
# In the same session, the user compacts the conversation, and then goes on. One reply is kept.
LATER = ("/compact", "[[part:later]] go on")
COMMANDED = {
    "main": [[agent("a"), agent("b")], ["They work."], ["All done."]],
    "main-summary": [["a and b have worked."]],
    "later": [[], [agent("c")], ["It works."], ["Later done."]],
    **{name: [[f"result {name}"]] for name in "abc"},
}


def logs_of(name, folder, parts, resumes=()):
    """The logs of a session: of one that the program runs now, else recorded ones."""
    if program():
        run_program(folder, Model(parts), {}, resumes=resumes)
        projects = folder / "home" / ".claude" / "projects"
        if os.environ.get("RECORD_HOOKS"):
            record(projects, LOGS / name, folder)
        return projects
    return LOGS / name


def record(projects, to, folder):
    """Keeps what the importer reads: the messages, without the paths of this machine."""
    shutil.rmtree(to, ignore_errors=True)
    for file in sorted(projects.rglob("*.json*")):
        if "subagents" in file.parts or file.suffix == ".jsonl":
            target = to / file.relative_to(projects / file.relative_to(projects).parts[0])
            target.parent.mkdir(parents=True, exist_ok=True)
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            kept = [line for line in lines if line.get("type") in ("user", "assistant") or file.suffix == ".json"]
            target.write_text("".join(json.dumps(without_paths(line, folder)) + "\n" for line in kept))


def digctl(*args):
    return subprocess.run([DIGCTL, *args], capture_output=True, text=True)


def traces_of(logs, out):
    done = digctl("import", "claude-code", str(logs), "-o", str(out))
    assert done.returncode == 0, done.stderr
    return {path: [json.loads(line) for line in path.read_text().splitlines()] for path in sorted(out.iterdir())}


def detections(path):
    done = digctl("replay", str(path), "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["rule"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_log_becomes_the_trace_of_a_watched_session(name, tmp_path):
    parts = SESSIONS[name]
    traces = traces_of(logs_of(name, tmp_path, parts), tmp_path / "traces")
    ((path, trace),) = traces.items()
    kinds = [event.get("kind") for event in events(trace).values()]
    assert kinds.count("task") == len([part for part in parts if len(part) == 1])
    assert kinds.count("answer") == 1
    assert {line["agent"] for line in starts(trace)} >= {"main", "general-purpose#1"}
    assert detections(path) == (["early_termination"] if name == "empty" else [])
    assert trace[-1]["outcome"] == "success"
    labels = trace[0]["labels"]
    assert labels["program"] == "claude-code"
    assert labels["project"] == "project"
    assert labels["model"].startswith("claude-")


def test_a_compacted_session_goes_on_and_its_summary_is_no_prompt(tmp_path):
    traces = traces_of(logs_of("commanded", tmp_path, COMMANDED, LATER), tmp_path / "traces")
    first, second = sorted(traces.values(), key=lambda trace: trace[1]["ts"])
    for trace, prompt, tasks in ((first, "[[part:main]] go", "ab"), (second, LATER[1], "c")):
        made = list(events(trace).values())
        assert [event["payload"]["text"] for event in made if event.get("kind") == "prompt"] == [prompt]
        assert sorted(e["payload"]["text"] for e in made if e.get("kind") == "result") == [f"result {t}" for t in tasks]
        assert trace[-1]["outcome"] == "success"
    assert [rule for path in traces for rule in detections(path)] == []


def test_logs_that_are_none_are_refused_and_damaged_lines_named(tmp_path):
    assert digctl("import", "claude-code", str(tmp_path), "-o", str(tmp_path / "o")).returncode == 2
    (tmp_path / "s.jsonl").write_text('{"type":"user"\n[]\n{}\n')
    done = digctl("import", "claude-code", str(tmp_path), "-o", str(tmp_path / "o"))
    assert done.returncode == 2
    assert f"{tmp_path / 's.jsonl'}: line 1: no JSON" in done.stderr
    assert "line 2: expected a JSON object" in done.stderr
    assert "1 of 1 sessions imported: 0 runs, 0 hook calls; 2 damaged lines left out" in done.stderr
