"""digctl attach and digctl hook: the settings that they write, and what they do without a daemon."""

import contextlib
import hashlib
import json
import os
import shlex
import socket
import subprocess
import time
from pathlib import Path

import pytest
from coding_agent import HOOKS, program, run_program
from fake_model import Call, Model
from live import DIGCTL, Daemon, wait_until

OWN_HOOK = {"matcher": "Bash", "hooks": [{"type": "command", "command": "/usr/bin/true"}]}


def digctl(*args, cwd, stdin="", env=None):
    variables = {"PATH": os.environ["PATH"], "HOME": str(cwd), **(env or {})}
    return subprocess.run([DIGCTL, *args], cwd=cwd, env=variables, input=stdin, capture_output=True, text=True)


def settings_in(folder) -> dict:
    return json.loads((Path(folder) / ".claude" / "settings.json").read_text())


def test_attach_adds_every_hook_and_keeps_the_rest(tmp_path):
    (tmp_path / ".claude").mkdir()
    before = {"model": "opus", "hooks": {"PreToolUse": [OWN_HOOK], "Notification": [OWN_HOOK]}, "env": {"A": "b"}}
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(before))
    done = digctl("attach", "claude-code", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = settings_in(tmp_path)
    assert [after["model"], after["env"], after["hooks"]["Notification"]] == ["opus", {"A": "b"}, [OWN_HOOK]]
    assert after["hooks"]["PreToolUse"][0] == OWN_HOOK
    assert set(after["hooks"]) == {*HOOKS, "PostModelSwitch", "SessionStart", "Notification"}
    url = "http://127.0.0.1:7344/v1/hooks/claude-code?mode=shadow"
    assert all(after["hooks"][hook][-1]["hooks"][0]["url"] == url for hook in [*HOOKS, "PostModelSwitch"])
    start = after["hooks"]["SessionStart"][0]["hooks"][0]
    assert start["command"] == "digctl hook claude-code --mode shadow", "the program skips HTTP hooks there"
    assert json.loads((tmp_path / ".claude" / "settings.json.before-digd").read_text()) == before

    again = digctl("attach", "claude-code", cwd=tmp_path)
    assert "needs no change" in again.stderr
    assert digctl("attach", "claude-code", "enforce", cwd=tmp_path).returncode == 0
    assert len(settings_in(tmp_path)["hooks"]["Stop"]) == 1, "another mode replaces the hooks"
    assert digctl("attach", "claude-code", "--remove", cwd=tmp_path).returncode == 0
    assert settings_in(tmp_path) == before
    assert json.loads((tmp_path / ".claude" / "settings.json.before-digd").read_text()) == before


def test_attach_changes_nothing_in_settings_that_it_cannot_read(tmp_path):
    (tmp_path / ".claude").mkdir()
    for text in ["{", "[]", '{"hooks":[]}']:
        (tmp_path / ".claude" / "settings.json").write_text(text)
        assert digctl("attach", "claude-code", cwd=tmp_path).returncode == 2
        assert (tmp_path / ".claude" / "settings.json").read_text() == text


def test_attach_to_a_project_names_the_token_and_does_not_write_it(tmp_path):
    done = digctl("attach", "claude-code", "--project", cwd=tmp_path, env={"HOME": "/nowhere", "DIGD_TOKEN": "secret"})
    assert done.returncode == 0, done.stderr
    handler = settings_in(tmp_path)["hooks"]["Stop"][0]["hooks"][0]
    assert handler["headers"] == {"Authorization": "Bearer $DIGD_TOKEN"}
    assert handler["allowedEnvVars"] == ["DIGD_TOKEN"]
    assert "secret" not in json.dumps(settings_in(tmp_path)) + done.stderr


def test_a_command_hook_names_the_files_of_access_and_quotes_its_words(tmp_path):
    (tmp_path / "it's a token").write_text("secret\n")
    words = ["--to", "unix:/run/it's here", "--token-file", "it's a token", "--ca", "ca.pem"]
    done = digctl("attach", "claude-code", "--command", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    command = settings_in(tmp_path)["hooks"]["Stop"][0]["hooks"][0]["command"]
    expected = ["digctl", "hook", "claude-code", "--mode", "shadow", "--to", "unix:/run/it's here"]
    expected += ["--token-file", str(tmp_path / "it's a token"), "--ca", str(tmp_path / "ca.pem")]
    assert shlex.split(command) == expected
    assert digctl("attach", "claude-code", "--remove", cwd=tmp_path).returncode == 0
    assert settings_in(tmp_path) == {}


def test_numbers_of_the_user_keep_their_decimal_form(tmp_path):
    (tmp_path / ".claude").mkdir()
    numbers = '"a": 0.7,\n  "b": 100000.0,\n  "c": -2.0,\n  "d": 12'
    (tmp_path / ".claude" / "settings.json").write_text("{\n  " + numbers + "\n}\n")
    assert digctl("attach", "claude-code", cwd=tmp_path).returncode == 0
    text = (tmp_path / ".claude" / "settings.json").read_text()
    assert numbers in text
    assert digctl("attach", "claude-code", "--remove", cwd=tmp_path).returncode == 0
    assert (tmp_path / ".claude" / "settings.json").read_text() == "{\n  " + numbers + "\n}\n"


@pytest.mark.parametrize("program, file", [("claude-code", "settings.json"), ("opencode", "plugins/digd.js")])
def test_settings_that_cannot_be_written_are_named(tmp_path, program, file):
    folder = tmp_path / (".claude" if program == "claude-code" else ".config")
    folder.write_text("a file, where a folder is needed")
    path = folder / file if program == "claude-code" else folder / "opencode" / file
    done = digctl("attach", program, cwd=tmp_path)
    assert done.returncode == 2
    assert f"digctl attach: {path}: Not a directory" in done.stderr


def test_check_names_the_missing_parts(tmp_path, daemon):
    missing = digctl("attach", "claude-code", "--check", "--to", daemon.address, cwd=tmp_path)
    assert missing.returncode == 1
    assert "0 of 12 hooks" in missing.stderr
    assert "digd answers" in missing.stderr


def test_attach_takes_no_hooks_of_its_own_for_the_settings_from_before(tmp_path):
    for mode in ("shadow", "enforce"):
        assert digctl("attach", "claude-code", mode, cwd=tmp_path).returncode == 0
    assert [path.name for path in (tmp_path / ".claude").iterdir()] == ["settings.json"]


def test_check_notices_hooks_that_the_daemon_refuses(tmp_path):
    secret = "secret-of-an-agent-0123456789abcdef"
    digest = hashlib.sha256(secret.encode()).hexdigest()
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(f"[[token]]\nname = 'agent'\nsha256 = '{digest}'\nrights = ['ingest']\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").write_text("#!/bin/sh\necho 2.1.330\n")
    (tmp_path / "bin" / "claude").chmod(0o755)
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    with Daemon(tmp_path / "daemon", f"tokens = '{tokens}'\n") as daemon:

        def run(*options, **more):
            return digctl("attach", "claude-code", *options, "--to", daemon.address, cwd=tmp_path, env={**env, **more})

        assert run().returncode == 0
        refused = run("--check")
        assert (refused.returncode, "requires a token" in refused.stderr) == (1, True)
        silent = run("--check", DIGD_TOKEN=secret)
        assert (silent.returncode, "The hooks send no token" in silent.stderr) == (1, True)
        assert run(DIGD_TOKEN=secret).returncode == 0
        ready = run("--check", DIGD_TOKEN=secret)
        assert ready.returncode == 0, ready.stderr


def test_hook_fails_open_without_a_daemon(tmp_path):
    call = json.dumps({"hook_event_name": "Stop", "session_id": "s"})
    for program in ("claude-code", "codex", "gemini", "opencode"):
        done = digctl("hook", program, "--to", "127.0.0.1:1", cwd=tmp_path, stdin=call)
        assert (done.returncode, done.stdout) == (0, "")
        assert "continues without digd" in done.stderr
    for wrong in ["", "[]", "{"]:
        assert digctl("hook", "claude-code", cwd=tmp_path, stdin=wrong).returncode == 0


def test_hook_passes_a_deeply_nested_call_on(tmp_path, daemon):
    nested = "deep"
    for _ in range(40):
        nested = [nested]
    call = {"hook_event_name": "PreToolUse", "session_id": "s", "prompt_id": "p", "tool_name": "Bash"}
    call |= {"tool_use_id": "t1", "tool_input": {"command": "true", "more": nested}}
    done = digctl("hook", "claude-code", "--to", daemon.address, cwd=tmp_path, stdin=json.dumps(call))
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


@pytest.mark.parametrize("is_silent", [False, True], ids=["nobody listens", "nobody accepts"])
def test_hook_fails_open_in_under_200_ms(tmp_path, is_silent):
    """The least of several times: a busy host delays single starts of a program."""
    transcript = tmp_path / "s.jsonl"  # as long as it may be
    reply = {"message": {"role": "assistant", "id": "r", "usage": {"input_tokens": 1}, "content": "x" * 1000}}
    line = json.dumps(reply) + "\n"
    transcript.write_text(line * ((64 << 20) // len(line)))
    call = json.dumps({"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(transcript)})
    with contextlib.ExitStack() as open_sockets:
        listener = open_sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        host, port = listener.getsockname()
        if is_silent:  # the queue of connections is full: further ones get no answer
            listener.listen(0)
            for _ in range(4):
                client = open_sockets.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex((host, port))
        times = []
        for _ in range(8):
            begun = time.monotonic()
            done = digctl("hook", "claude-code", "--to", f"{host}:{port}", cwd=tmp_path, stdin=call)
            times.append(time.monotonic() - begun)
            assert (done.returncode, done.stdout) == (0, "")
    print(f"hook without a daemon: {min(times) * 1000:.0f} ms")
    assert min(times) < 0.2


def test_notify_of_codex_gives_its_call_as_an_argument(tmp_path, daemon):
    notice = {"type": "agent-turn-complete", "thread-id": "th", "turn-id": "t1", "cwd": "/home/dev/shop"}
    notice |= {"input-messages": ["go"], "last-assistant-message": "done"}
    done = digctl("hook", "codex", "--to", daemon.address, json.dumps(notice), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")

    def trace():
        shown = digctl("export", "th/t1", "--format", "trace", "--to", daemon.address, cwd=tmp_path)
        lines = [json.loads(line) for line in shown.stdout.splitlines()] if shown.returncode == 0 else []
        return lines if lines and lines[-1]["type"] == "run_ended" else None

    lines = wait_until(trace, "the run")
    assert lines[0]["labels"] == {"session": "th", "program": "codex", "project": "shop"}
    assert lines[-1]["outcome"] == "success"
    assert digctl("hook", "codex", "--to", daemon.address, "{", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("is_worktree", [False, True], ids=["a repository", "a working tree beside it"])
def test_hook_passes_the_call_on_with_the_branch(tmp_path, daemon, is_worktree):
    """The agent works in a folder of the repository."""
    git, folder = tmp_path / ".git", tmp_path / "src" / "parser"
    folder.mkdir(parents=True)
    if is_worktree:
        git.write_text("gitdir: main/.git/worktrees/topic\n")
        git = tmp_path / "main" / ".git" / "worktrees" / "topic"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/topic\n")
    call = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt_id": "p", "cwd": str(folder)}
    for hook in ("UserPromptSubmit", "SessionEnd"):
        text = json.dumps({**call, "hook_event_name": hook, "prompt": "go"})
        done = digctl("hook", "claude-code", "--to", daemon.address, cwd=tmp_path, stdin=text)
        assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")

    def labels():
        shown = digctl("export", "s/p", "--format", "trace", "--to", daemon.address, cwd=tmp_path)
        return json.loads(shown.stdout.splitlines()[0])["labels"] if shown.returncode == 0 else None

    assert wait_until(labels, "the run")["branch"] == "topic"


@pytest.mark.skipif(program() is None, reason="needs the real program")
@pytest.mark.parametrize("options", [(), ("--command",)], ids=["HTTP hooks", "commands"])
def test_the_real_program_is_watched_with_the_settings_of_attach(tmp_path, daemon, options):
    parts = {
        "main": [
            [Call("Agent", {"description": "a", "prompt": "[[part:a]] work", "subagent_type": "general-purpose"})],
            ["It works."],
            ["All done."],
        ],
        "a": [["result"]],
    }
    home = tmp_path / "home"
    home.mkdir()
    written = digctl("attach", "claude-code", *options, "--to", daemon.address, cwd=home)
    assert written.returncode == 0, written.stderr
    settings = settings_in(home)
    path = f"{Path(DIGCTL).resolve().parent}:{os.environ['PATH']}"
    settings["env"] = {"PATH": path}
    git = tmp_path / "project" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/topic\n")
    assert run_program(tmp_path, Model(parts), settings) in ("It works.", "All done.")
    runs = digctl("runs", "--to", daemon.address, "--format", "jsonl", cwd=tmp_path)
    assert runs.stdout.count("general-purpose") == 0
    (run,) = [json.loads(each) for each in runs.stdout.splitlines()]
    assert run["ended"] == "success"
    labels = run["labels"]
    assert [labels[name] for name in ("program", "project", "branch")] == ["claude-code", "project", "topic"]
