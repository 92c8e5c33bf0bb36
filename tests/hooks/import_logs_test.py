"""digctl import codex, gemini, opencode: logs of real sessions become traces with the facts that the hooks report."""

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import codex_test
import gemini_test
import opencode_test
import pytest
from claude_code_test import events, starts
from import_test import digctl
from live import DIGCTL
from session_logs import logs_of, recorded

PATIENT = {"codex": codex_test.command("echo on"), "gemini": gemini_test.LIST, "opencode": opencode_test.SHELL}
AGENT = {"codex": codex_test.agent, "gemini": gemini_test.agent, "opencode": opencode_test.agent}
RESULT = {"codex": lambda text: text, "gemini": gemini_test.result, "opencode": lambda text: text}
TWO = {"codex": codex_test.TWO, "gemini": gemini_test.TWO, "opencode": opencode_test.TWO}
for each in (PATIENT, AGENT, RESULT, TWO):
    each["opencode-1.1"] = each["opencode-1.2"] = each["opencode"]  # the same script of the model
PROGRAMS = list(TWO)


def scenario(program, name):
    """Returns the script of the model for a scenario."""
    if name == "two":
        return TWO[program]
    agent, result = AGENT[program], RESULT[program]
    wait = [[codex_test.WAIT]] if program == "codex" else []
    if name == "empty":
        return {"main": [[agent("a")], *wait, ["Done without it."]], "a": [[""]]}
    if name == "repeated":
        return {"main": [*[[PATIENT[program]] for _ in range(5)], ["All done."]]}
    parts = "abcd"
    waits = wait * (len(parts) + 2)
    return {"main": [[agent(part) for part in parts], *waits, ["All done."]]} | {
        part: [[result(f"result {part}")]] for part in parts
    }


def command_of(program):
    return program.partition("-")[0]


def traces_of(program, logs, out, *options, status=0):
    done = digctl("import", command_of(program), str(logs), "-o", str(out), *options)
    assert done.returncode == status, done.stderr
    return {path: [json.loads(line) for line in path.read_text().splitlines()] for path in sorted(out.iterdir())}


def found_in(path):
    done = digctl("replay", str(path), "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["rule"] for line in done.stdout.splitlines()]


def usage_of(trace):
    """Returns the sums of what activations used."""
    sums = {}
    for line in trace:
        for name, number in line.get("usage", {}).items():
            sums[name] = sums.get(name, 0) + number
    return sums


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_healthy_log_becomes_the_trace_of_a_watched_session(program, tmp_path):
    is_real = bool(os.environ.get("DIGD_REAL_LOGS"))
    logs = logs_of(program, "two", scenario(program, "two"), tmp_path / "s", is_real)
    ((path, trace),) = traces_of(program, logs, tmp_path / "traces", "--max-repeats", "3").items()
    assert found_in(path) == []
    assert trace[-1]["outcome"] == "success"
    tasks = [event for event in events(trace).values() if event.get("kind") == "task"]
    assert len({task["recipients"][0] for task in tasks}) == 2
    for task in tasks:
        (child,) = [line for line in starts(trace) if task["id"] in line["inputs"]]
        (end,) = [line for line in trace if line.get("activation") == child["activation"] and line.get("outputs")]
        assert [output["payload"]["text"] for output in end["outputs"]] == [f"result {task['payload']['text'][7]}"]
    results = {event["id"] for event in events(trace).values() if event.get("kind") == "result"}
    assert results <= {each for line in starts(trace) if line["agent"] == "main" for each in line["inputs"]}
    (answer,) = [event for event in events(trace).values() if event.get("kind") == "answer"]
    assert answer["payload"]["text"] == "All done."
    assert trace[0]["labels"]["program"] == command_of(program)
    assert trace[0]["labels"]["project"] == "project"
    used = usage_of(trace)
    calls = sum(len(script) for script in scenario(program, "two").values())
    assert (used["model_calls"], used["input_tokens"], used["output_tokens"]) == (calls, 100 * calls, 10 * calls)


def test_facts_that_a_log_does_not_state_are_marked(tmp_path):
    (trace,) = traces_of("gemini", recorded("gemini", "two", tmp_path / "s"), tmp_path / "traces").values()
    marked = [line for line in trace if "inferred" in line]
    assert any(line.get("outputs") and line["inferred"] == ["reactions"] for line in marked), "the answer's stop"
    assert not any(line["type"] == "event" for line in marked), "tasks and results are stated"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_subagent_that_came_back_empty_is_found(program, tmp_path):
    logs = logs_of(program, "empty", scenario(program, "empty"), tmp_path / "s")
    ((path, trace),) = traces_of(program, logs, tmp_path / "traces").items()
    assert found_in(path) == ["early_termination"]
    assert [line["error"] for line in trace if line.get("failed")] == ["it ended without a message"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_call_over_and_over_is_found_by_the_guard(program, tmp_path):
    logs = logs_of(program, "repeated", scenario(program, "repeated"), tmp_path / "s")
    ((path, _),) = traces_of(program, logs, tmp_path / "traces", "--max-repeats", "3").items()
    assert set(found_in(path)) == {"repetition"}
    ((path, _),) = traces_of(program, logs, tmp_path / "lenient", "--max-repeats", "9").items()
    assert found_in(path) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_fan_out_is_found_by_the_guard(program, tmp_path):
    logs = logs_of(program, "fan_out", scenario(program, "fan_out"), tmp_path / "s")
    ((path, _),) = traces_of(program, logs, tmp_path / "traces", "--max-outputs", "3").items()
    assert set(found_in(path)) == {"fan_out"}
    ((path, _),) = traces_of(program, logs, tmp_path / "lenient", "--max-outputs", "4").items()
    assert found_in(path) == []


@pytest.mark.parametrize("program", ["codex", "gemini"])
def test_a_damaged_log_is_named_with_its_line_and_the_rest_goes_on(program, tmp_path):
    folder = tmp_path / "logs"
    for name in ("two", "empty"):
        shutil.copytree(recorded(program, name, tmp_path), folder / name)
    broken = next(path for path in sorted((folder / "two").rglob("*.jsonl")) if "All done" in path.read_text())
    lines = broken.read_text().splitlines()
    broken.write_text("\n".join([*lines, '{"torn": "li']))
    done = digctl("import", program, str(folder), "-o", str(tmp_path / "traces"))
    assert done.returncode == 2
    assert f"{broken}: line {len(lines) + 1}: no JSON" in done.stderr
    assert "2 of 2 sessions imported: 2 runs" in done.stderr
    assert len(list((tmp_path / "traces").iterdir())) == 2


def test_a_database_that_is_none_is_named_and_the_rest_goes_on(tmp_path):
    recorded("opencode", "two", tmp_path / "logs" / "good")
    (tmp_path / "logs" / "bad").mkdir()
    (tmp_path / "logs" / "bad" / "opencode.db").write_text("no database\n" * 100)
    done = digctl("import", "opencode", str(tmp_path / "logs"), "-o", str(tmp_path / "traces"))
    assert done.returncode == 2
    assert "bad/opencode.db" in done.stderr
    assert "1 of 1 sessions imported: 1 runs" in done.stderr


def test_a_damaged_file_of_opencode_is_named_and_the_rest_goes_on(tmp_path):
    logs = recorded("opencode-1.1", "two", tmp_path / "logs")
    (broken,) = (path for path in logs.rglob("prt_*.json") if '"echo hi"' in path.read_text())
    broken.write_text(broken.read_text()[:-1])
    (session,) = (path for path in logs.rglob("ses_*.json") if "parentID" not in path.read_text())
    other = session.with_name("ses_torn.json")
    other.write_text('{"id": "ses_to')
    done = digctl("import", "opencode", str(logs), "-o", str(tmp_path / "traces"))
    assert done.returncode == 2
    assert f"{broken}: line 1: no JSON" in done.stderr
    assert f"{other}: no JSON" in done.stderr
    assert "1 of 1 sessions imported: 1 runs" in done.stderr
    (trace,) = (tmp_path / "traces").iterdir()
    assert '"All done."' in trace.read_text()


def test_files_of_opencode_beside_the_database_that_has_them_are_read_once(tmp_path):
    files = recorded("opencode-1.1", "two", tmp_path / "logs")
    (session,) = (path for path in files.rglob("ses_*.json") if "parentID" not in path.read_text())
    with sqlite3.connect(recorded("opencode", "two", files)) as rows:
        rows.execute("UPDATE session SET parent_id = ? WHERE parent_id IS NOT NULL", [session.stem])
        rows.execute("UPDATE session SET id = ? WHERE parent_id IS NULL", [session.stem])
    recorded("opencode-1.1", "empty", files)
    done = digctl("import", "opencode", str(files), "-o", str(tmp_path / "traces"))
    assert done.returncode == 0, done.stderr
    assert "2 of 2 sessions imported" in done.stderr


def test_linked_folders_of_opencode_are_not_followed(tmp_path):
    files = recorded("opencode-1.1", "two", tmp_path / "logs")
    (files / "storage" / "message").rename(tmp_path / "elsewhere")
    for folder in (tmp_path / "elsewhere").iterdir():
        (files / "storage" / "message").mkdir(exist_ok=True)
        (files / "storage" / "message" / folder.name).symlink_to(folder)
    done = digctl("import", "opencode", str(files), "-o", str(tmp_path / "traces"))
    assert done.returncode == 0, done.stderr
    assert "1 of 1 sessions imported: 0 runs" in done.stderr


def test_a_folder_without_logs_is_refused(tmp_path):
    for program in map(command_of, PROGRAMS):
        done = digctl("import", program, str(tmp_path), "-o", str(tmp_path / "o"))
        assert done.returncode == 2
        assert "there are no session logs" in done.stderr


SESSIONS = 40  # every other one with a subagent that came back empty


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Traces of a folder of sessions: copies of recorded ones, with ids of their own."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(SESSIONS):
        source = recorded("codex", "empty" if number % 2 else "two", folder)
        for file in source.rglob("*.jsonl"):
            target = folder / "logs" / str(number) / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.read_text().replace("01a20a11-", f"01a2{number:04x}-"))
    return traces_of("codex", folder / "logs", folder / "traces")


def test_a_folder_of_sessions_is_imported_as_a_whole(many):
    assert len(many) == SESSIONS
    assert len({trace[0]["labels"]["session"] for trace in many.values()}) == SESSIONS


def test_report_names_the_agent_that_failed_in_an_imported_session(many):
    path = next(path for path, trace in many.items() if any(line.get("failed") for line in trace))
    done = digctl("report", str(path), "--format", "md", "--budget", "0", "-q")
    assert done.returncode == 0, done.stderr
    assert 'of agent "main" (waiting at "default\\#1")' in done.stdout
    assert "digd detected an early termination" in done.stdout


def test_causal_says_what_goes_with_failures_of_imported_sessions(many):
    folder = str(next(iter(many)).parent)
    done = digctl("causal", "explain", folder, "--target", "failures", "--format", "json", "--permutations", "99")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"] == SESSIONS


def readable_by_nobody():
    """A folder that a user without rights can read; its own folders can be closed to that user."""
    folder = Path(tempfile.mkdtemp(prefix="digd-closed-"))
    folder.chmod(0o777)
    return folder


def import_unprivileged(*args):
    """Root reads every folder; so digctl runs as another user then."""
    other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.run([DIGCTL, "import", *map(str, args)], capture_output=True, text=True, cwd="/", **other)


@pytest.mark.parametrize("program", ["codex", "claude-code", "whowhen"])
def test_a_folder_that_cannot_be_read_is_named_and_the_rest_goes_on(program):
    folder = readable_by_nobody()
    try:
        for name in ("a", "b", "c", "d"):
            (folder / "logs" / name).mkdir(parents=True)
            if name in "ad":
                (folder / "logs" / name / f"rollout-{name}.jsonl").write_text("{}\n")
                (folder / "logs" / name / "1.json").write_text("{}\n")
        for name in ("b", "c"):
            (folder / "logs" / name).chmod(0)
        got = import_unprivileged(program, folder / "logs", "-o", folder / "out")
    finally:
        for name in ("b", "c"):
            (folder / "logs" / name).chmod(0o700)
        shutil.rmtree(folder)
    assert got.returncode == 2
    for name in ("b", "c"):
        assert f"{folder}/logs/{name}: Permission denied" in got.stderr
    if program == "whowhen":
        assert f"{folder}/logs/a/1.json: " in got.stderr and f"{folder}/logs/d/1.json: " in got.stderr
    else:
        assert " of 2 sessions imported" in got.stderr


def test_two_sessions_with_the_same_name_do_not_overwrite_each_other(tmp_path):
    reply = {"role": "assistant", "id": "m1", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}
    entries = [
        {"type": "user", "uuid": "u1", "promptId": "p1", "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": reply},
    ]
    lines = [{**entry, "sessionId": "s3", "timestamp": "2026-01-01T00:00:00Z"} for entry in entries]
    for name in ("p", "q"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "s3.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    got = digctl("import", "claude-code", str(tmp_path / "logs"), "-o", str(tmp_path / "traces"))
    assert got.returncode == 2
    assert "s3.jsonl: its trace would overwrite " in got.stderr and "the trace of another session" in got.stderr
    assert "1 of 2 sessions imported" in got.stderr
    assert len(list((tmp_path / "traces").iterdir())) == 1
