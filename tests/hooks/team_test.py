"""Agent teams of Claude Code: teammates and their shared task list, of the real program or of its recorded hook calls.

The program has teammates only in a terminal, so it runs in a pseudo-terminal here.
"""

import contextlib
import json
import os
import pty
import select
import time
from pathlib import Path

import pytest
from attach_test import digctl
from claude_code_test import Watched, agent, events, starts, the_one_run
from coding_agent import RECORDED, TIMEOUT_S, Relay, Session, environment, post, program, settings_with, without_paths
from fake_model import After, Call, Model, serve
from live import DIGCTL

KEY = "sk-ant-not-a-key"
TEAM = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", "TERM": "xterm"}


def prepare(folder: Path, hooks_url: str) -> None:
    """Writes the settings of a user who has started the program before."""
    home, project = folder / "home", folder / "project"
    (home / ".claude").mkdir(parents=True)
    project.mkdir()
    settings = settings_with(hooks_url) | {"teammateMode": "in-process", "skipDangerousModePermissionPrompt": True}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    user = {
        "hasCompletedOnboarding": True,
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]]},
        "projects": {str(project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (home / ".claude.json").write_text(json.dumps(user))


def run_in_terminal(folder: Path, model: Model, is_over) -> None:
    """Runs a session until `is_over`, and leaves it as a user does."""
    server = serve(model)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder / "project")
        variables = environment(folder / "home", server.server_port) | TEAM
        os.execve(program(), [program(), "--dangerously-skip-permissions", "[[part:main]] go"], variables)
    shown, end, over_since = b"", time.monotonic() + TIMEOUT_S, None
    try:
        while time.monotonic() < end:
            if not is_over():
                over_since = None
            elif over_since is None:
                over_since = time.monotonic()
            elif time.monotonic() > over_since + 1:  # nothing woke an agent again
                os.write(terminal, b"/exit\r")
                over_since = end
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    shown += os.read(terminal, 65536)
                except OSError:  # the program has ended
                    return
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
        server.shutdown()
    raise AssertionError(f"the session did not end:\n{shown.decode(errors='replace')[-3000:]}")


def play(scenario: str, folder: Path, url: str, parts: dict, last_answer: str) -> Session:
    """Runs a scenario in a terminal, or plays its recorded hook calls. It is over with this answer."""
    model, record = Model(parts), RECORDED / f"{scenario}.jsonl"
    if not program():
        return Session([post(url, json.loads(line)) for line in record.read_text().splitlines()], model, None)
    relay = Relay(url)
    server = relay.serve()
    prepare(folder, f"http://127.0.0.1:{server.server_port}/")

    def is_over():
        """The answer was the last hook, and no teammate acts."""
        calls = [hook.call for hook in list(relay.hooks)]
        hooks = [call["hook_event_name"] for call in calls]
        ends = hooks.count("SubagentStop")
        rests = ends > 0 and ends == hooks.count("SubagentStart")
        return rests and calls[-1].get("last_assistant_message") == last_answer

    try:
        run_in_terminal(folder, model, is_over)
    finally:
        server.shutdown()
    if os.environ.get("RECORD_HOOKS"):
        record.write_text("".join(json.dumps(without_paths(hook.call, folder)) + "\n" for hook in relay.hooks))
    return Session(relay.hooks, model, last_answer)


def create(subject):
    return Call("TaskCreate", {"subject": subject, "description": f"{subject} of the parser"})


def update(task, **fields):
    return Call("TaskUpdate", {"taskId": task, **fields})


@pytest.fixture
def watched(daemon):
    return Watched(daemon)


def named(trace, recipient):
    """The texts and kinds of the events to an agent."""
    to = [event for event in events(trace).values() if event["recipients"] == [recipient]]
    return sorted((event["kind"], event["payload"]["text"]) for event in to)


TEAM_OF_TWO = {
    "main": [
        [create("tests"), create("docs")],
        [agent("a", name="ann"), agent("b", name="bob")],
        [update("2", owner="bob")],
        ["They work."],
        ["All done."],
    ],
    "a": [
        [update("1", status="in_progress")],
        [Call("SendMessage", {"to": "bob", "message": "look at the tests too", "summary": "tests"})],
        [update("1", status="completed")],
        ["The tests pass."],
    ],
    # The task is given to bob before he begins it.
    "b": [
        [After("main", 3), update("2", status="in_progress")],
        [update("2", status="completed")],
        ["The docs are written."],
    ],
}


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_a_team_that_shares_its_tasks_fires_nothing_and_is_not_changed(watched, tmp_path, mode):
    session = play("team", tmp_path, watched.url(mode), TEAM_OF_TWO, "All done.")
    run = the_one_run(watched)
    trace = watched.trace(run)
    assert watched.detections(run) == []
    assert session.changed == []
    assert run["ended"] == "success"
    assert {line["agent"] for line in starts(trace)} == {"main", "ann", "bob"}
    assert ("task", "docs\ndocs of the parser") in named(trace, "bob"), "the task that the main agent gave"
    assert ("message", "look at the tests too") in named(trace, "bob")
    results = [text for kind, text in named(trace, "main") if kind == "result"]
    assert {"The tests pass.", "The docs are written.", "tests\ntests of the parser"} <= set(results)
    (created,) = [
        event["id"]
        for event in events(trace).values()
        if event["payload"]["text"].startswith("tests") and event["recipients"] == []
    ]
    assert {line["agent"] for line in starts(trace) if created in line["inputs"]} == {"ann"}, "the task that ann took"



@pytest.mark.skipif(program() is None, reason="needs the real program in a terminal")
def test_the_first_run_in_a_terminal_names_branch_and_model(daemon, tmp_path):
    """With the settings that attach writes. The program names the model in its hook at the session's start."""
    prepare(tmp_path, "")
    home = tmp_path / "home"
    path = home / ".claude" / "settings.json"
    own = {key: value for key, value in json.loads(path.read_text()).items() if key != "hooks"}
    path.write_text(json.dumps(own | {"env": {"PATH": f"{Path(DIGCTL).resolve().parent}:{os.environ['PATH']}"}}))
    assert digctl("attach", "claude-code", "--to", daemon.address, cwd=home).returncode == 0
    git = tmp_path / "project" / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/topic\n")
    model = Model({"main": [["Done."]]})
    run_in_terminal(tmp_path, model, lambda: model.seen_by("main"))
    labels = the_one_run(Watched(daemon))["labels"]
    assert [labels[name] for name in ("program", "project", "branch")] == ["claude-code", "project", "topic"]
    assert labels["model"].startswith("claude-")
