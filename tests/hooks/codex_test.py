"""Codex CLI, the real program or its recorded hook calls, with digd answering its hooks.

The program comes from npm (`npm install @openai/codex@0.169.0`); $CODEX_BIN names it.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from attach_test import digctl
from claude_code_test import Watched, events, rules, starts, the_one_run
from coding_agent import RECORDED, TIMEOUT_S, Relay, Session, post, without_paths
from fake_model import Call, Model, serve
from fake_responses import AGENTS, ResponsesHandler
from live import DIGCTL, Daemon, wait_until

CODEX = os.environ.get("CODEX_BIN", "")
CONFIG = """
model = "fake"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[features]
multi_agent = true
"""


@pytest.fixture
def codex(daemon):
    return CodexWatched(daemon)


class CodexWatched(Watched):
    def url(self, mode="shadow"):
        return f"http://{self.daemon.address}/v1/hooks/codex?mode={mode}"


def agent(part, **more):
    return Call("multi_agent_v1/spawn_agent", {"message": f"[[part:{part}]] work", **more})


def command(text):
    return Call("exec_command", {"cmd": text})


WAIT = Call("multi_agent_v1/wait_agent", {"targets": AGENTS, "timeout_ms": 30000})
# The second wait brings what the first did not: a wait ends with the first result.
TWO = {
    "main": [[agent("a"), agent("b")], [WAIT], [command("sleep 1")], [WAIT], ["All done."]],
    "a": [[command("echo a")], ["result a"]],
    "b": [["result b"]],
}


def run_attached(folder: Path, model: Model, mode: str, relay_port: int) -> str:
    """Runs one prompt with the hooks that `digctl attach` writes; returns the answer."""
    home = folder / "home"
    home.mkdir()
    attached = digctl("attach", "codex", mode, "--to", f"127.0.0.1:{relay_port}", cwd=home)
    assert attached.returncode == 0, attached.stderr
    return run_codex(folder, model)


def run_codex(folder: Path, model: Model, config: str = "") -> str:
    home, project = folder / "home", folder / "project"
    (home / ".codex").mkdir(parents=True, exist_ok=True)
    project.mkdir(exist_ok=True)
    server = serve(model, ResponsesHandler)
    (home / ".codex" / "config.toml").write_text(config + CONFIG.format(port=server.server_port))
    flags = "--skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust"
    path = f"{Path(DIGCTL).resolve().parent}:{os.environ['PATH']}"
    try:
        done = subprocess.run(
            [CODEX, "exec", *flags.split(), "[[part:main]] go"],
            cwd=project,
            env={"PATH": path, "HOME": str(home), "FAKE_KEY": "x"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
    finally:
        server.shutdown()
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.strip()


def play(scenario, folder, codex, mode, parts) -> Session:
    """Runs a scenario with the real program, or plays its recorded hook calls."""
    model, record = Model(parts), RECORDED / f"codex_{scenario}.jsonl"
    if not CODEX:
        hooks = [post(codex.url(mode), json.loads(line)) for line in record.read_text().splitlines()]
        return Session(hooks, model, None)
    relay = Relay(codex.url(mode))
    server = relay.serve()
    try:
        result = run_attached(folder, model, mode, server.server_port)
    finally:
        server.shutdown()
    if os.environ.get("RECORD_HOOKS"):
        record.write_text("".join(json.dumps(without_paths(hook.call, folder)) + "\n" for hook in relay.hooks))
    return Session(relay.hooks, model, result)


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_two_subagents_that_are_waited_for_fire_nothing(codex, tmp_path, mode):
    session = play("two", tmp_path, codex, mode, TWO)
    run = the_one_run(codex)
    assert session.changed == []
    assert codex.detections(run) == []
    assert run["ended"] == "success"
    trace = codex.trace(run)
    tasks = [event for event in events(trace).values() if event.get("kind") == "task"]
    assert len({task["recipients"][0] for task in tasks}) == 2
    for task in tasks:
        (child,) = [line for line in starts(trace) if task["id"] in line["inputs"]]
        (end,) = [line for line in trace if line.get("activation") == child["activation"] and line.get("outputs")]
        assert [output["payload"]["text"] for output in end["outputs"]] == [f"result {task['payload']['text'][7]}"]
    results = {event["id"] for event in events(trace).values() if event.get("kind") == "result"}
    read = {each for line in starts(trace) if line["agent"] == "main" for each in line["inputs"]}
    assert results <= read
    assert trace[0]["labels"]["model"] == "fake"
    if session.is_real:
        assert session.result == "All done."


EARLY = {"main": [[agent("a")], ["Done without it."], [WAIT], ["All done."]], "a": [[command("sleep 2")], ["late"]]}


def test_an_answer_while_a_subagent_works_is_early(codex, tmp_path):
    session = play("early", tmp_path, codex, "shadow", EARLY)
    assert rules(codex.detections(the_one_run(codex))) == ["early_termination"]
    assert session.changed == []


def test_enforced_the_main_agent_goes_on_and_waits(codex, tmp_path):
    session = play("early_enforced", tmp_path, codex, "enforce", EARLY)
    (found,) = codex.detections(the_one_run(codex))
    assert (found["rule"], found["healed"]) == ("early_termination", True)
    (answer,) = session.changed
    assert answer["decision"] == "block"
    if session.is_real:
        assert session.result == "All done."


def play_notify(folder: Path, codex: CodexWatched) -> None:
    """Runs the program with `notify` alone, or plays what it reported."""
    record = RECORDED / "codex_notify.jsonl"
    if not CODEX:
        for line in record.read_text().splitlines():
            assert post(codex.url(), json.loads(line)).status == 200
        return
    relay = Relay(codex.url())
    server = relay.serve()
    try:
        command = ["digctl", "hook", "codex", "--to", f"127.0.0.1:{server.server_port}"]
        assert run_codex(folder, Model(TWO), f"notify = {json.dumps(command)}\n") == "All done."
        wait_until(lambda: len(relay.hooks) == 3, "the turns of the three agents")
    finally:
        server.shutdown()
    if os.environ.get("RECORD_HOOKS"):
        record.write_text("".join(json.dumps(without_paths(hook.call, folder)) + "\n" for hook in relay.hooks))


def test_notify_alone_makes_a_run_of_each_turn(codex, tmp_path):
    play_notify(tmp_path, codex)
    wait_until(lambda: codex.metric("digd_hook_calls_total") == 3, "the turns of the three agents")
    wait_until(lambda: len(json.loads(codex.get("/v1/runs"))["runs"]) == 3, "the runs in the archive")
    runs = codex.runs()
    assert [run["ended"] for run in runs] == ["success"] * 3
    answers = [event for run in runs for event in events(codex.trace(run)).values() if event.get("submit")]
    assert {answer["payload"]["text"] for answer in answers} == {"result a", "result b", "All done."}
    assert all(codex.detections(run) == [] for run in runs)


def test_tokens_of_codex_come_from_its_transcripts(tmp_path):
    """Each reply of the scripted model used 100 and 10 tokens. Recorded calls have what digctl read in transcripts."""
    with Daemon(tmp_path / "daemon", "threads = 2\n[guards.budget]\nmax_tokens = 1000000\n") as running:
        watched = CodexWatched(running)
        session = play("two", tmp_path, watched, "shadow", TWO)
        used = [line["usage"] for line in watched.trace(the_one_run(watched)) if "usage" in line]
    replies = sum(each.get("model_calls", 0) for each in used)
    assert 4 <= replies <= (len(session.model.requests) or 10)
    assert sum(each.get("input_tokens", 0) for each in used) == 100 * replies
    assert sum(each.get("output_tokens", 0) for each in used) == 10 * replies
