"""Guards on sessions of Claude Code, the real program: what would go on without end is stopped, or reported."""

import os
import threading

import pytest
from attach_test import digctl, settings_in
from claude_code_test import THREE, Watched, agent, command, events, rules, the_one_run
from coding_agent import TIMEOUT_S, play, program, run_program
from fake_model import Model
from live import DIGCTL, Daemon

REAL = pytest.mark.skipif(program() is None, reason="needs the real program: its own behaviour is what is tested")


@pytest.fixture
def guarded(tmp_path):
    """Starts a daemon with guards; returns its view of the sessions."""
    running = []

    def start(guards):
        config = f"threads = 2\nverdict_deadline_ms = 20000\n{guards}\n"
        running.append(Daemon(tmp_path / "daemon", config).__enter__())
        return Watched(running[0])

    yield start
    for daemon in running:
        daemon.__exit__(None, None, None)


def guard_detections(watched, guard):
    return [found for found in watched.detections(the_one_run(watched)) if found["rule"] == guard]


def permissions(session):
    return [answer.get("hookSpecificOutput", {}).get("permissionDecision") for answer in session.changed]


# ---- fan_out

SIX = {
    "main": [[agent(part) for part in "abcdef"], ["They work."], ["All done."]],
    **{part: [[f"result {part}"]] for part in "abcdef"},
}


@REAL
@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_one_subagent_too_many_is_reported_and_only_enforced_denied(guarded, tmp_path, mode):
    watched = guarded("[guards.fan_out]\nmax_outputs = 4")
    session = play(f"fan_out_{mode}", tmp_path, watched.url(mode), SIX)
    found = guard_detections(watched, "fan_out")
    assert [each["healed"] for each in found] == [mode == "enforce"] * 2
    assert permissions(session) == (["deny"] * 2 if mode == "enforce" else [])
    tasks = [e for e in events(watched.trace(the_one_run(watched))).values() if e.get("kind") == "task"]
    assert len(tasks) == 6
    if session.is_real:
        played = [part for part in "abcdef" if session.model.seen_by(part)]
        assert len(played) == (4 if mode == "enforce" else 6)


@REAL
def test_subagents_that_spawn_subagents_without_end_stop_at_the_depth(guarded, tmp_path):
    """Each subagent asks for one like itself. Results descend from tasks, and a guard lets them pass."""
    watched = guarded("[guards.fan_out]\nmax_depth = 2")
    parts = {"main": [[agent("again")], ["It works."], ["All done."]], "again": [[agent("again")], ["result"]]}
    session = play("depth", tmp_path, watched.url("enforce"), parts)
    assert session.result in ("It works.", "All done.")
    assert permissions(session) == ["deny"], "one spawn; no stop was blocked"
    found = guard_detections(watched, "fan_out")
    tasks = [e["id"] for e in events(watched.trace(the_one_run(watched))).values() if e.get("kind") == "task"]
    assert len(tasks) == 3
    assert [each["healed"] for each in found if each["event"] == tasks[-1]] == [True]


# ---- repetition


@REAL
def test_the_same_call_over_and_over_is_answered_with_a_text_and_then_denied(guarded, tmp_path):
    watched = guarded("[guards.repetition]\nmax_repeats = 3")
    parts = {"main": [[command("echo same")]] * 7 + [["All done."]]}
    session = play("repetition", tmp_path, watched.url("enforce"), parts)
    assert session.result == "All done."
    outputs = [answer["hookSpecificOutput"] for answer in session.changed]
    assert "additionalContext" in outputs[0]
    assert [output.get("permissionDecision") for output in outputs] == [None, "deny", "deny", "deny"]
    done = [hook for hook in session.hooks if hook.call["hook_event_name"] == "PostToolUse"]
    assert len(done) == 4, "the calls that were denied did not run"
    assert rules(watched.detections(the_one_run(watched))) == ["repetition"] * 4


@REAL
def test_different_calls_are_not_a_repetition(guarded, tmp_path):
    watched = guarded("[guards.repetition]\nmax_repeats = 1")
    parts = {"main": [*[[command(f"echo {n}")] for n in range(5)], ["All done."]]}
    session = play("no_repetition", tmp_path, watched.url("enforce"), parts)
    assert (session.result, session.changed) == ("All done.", [])
    assert watched.detections(the_one_run(watched)) == []


# ---- budget


@REAL
@pytest.mark.parametrize("who", ["main", "a"])
def test_an_agent_that_calls_tools_without_end_is_ended_by_a_budget(guarded, tmp_path, who):
    """Without the guard this session never ends: the script repeats its last reply."""
    watched = guarded("[guards.budget]\nmax_tool_calls = 5\nper = 'agent'\naction = ['return', 'cancel']")
    parts = {"main": [[agent("a")], ["It works."], ["All done."]], "a": [[command("echo again")]]}
    if who == "main":
        parts = {"main": [[command("echo again")]]}
    session = play("budget", tmp_path, watched.url("enforce"), parts)
    run = the_one_run(watched)
    assert rules(watched.detections(run)) == ["budget"]
    stopped = [answer for answer in session.changed if answer.get("continue") is False]
    assert len(stopped) == 1
    assert any(line.get("of") == "cancel:1" and line["applied"] == "cancelled" for line in watched.trace(run))
    if who == "a":
        assert session.result == "All done."
        assert run["ended"] == "success"


def attached_by_command(folder, watched, mode):
    """The settings that `digctl attach --command` writes."""
    home = folder / "home"
    home.mkdir()
    done = digctl("attach", "claude-code", mode, "--command", "--to", watched.daemon.address, cwd=home)
    assert done.returncode == 0, done.stderr
    settings = settings_in(home)
    settings["env"] = {"PATH": f"{os.path.dirname(os.path.abspath(DIGCTL))}:{os.environ['PATH']}"}
    return settings


@REAL
def test_tokens_come_from_the_transcript_and_a_budget_denies_further_subagents(guarded, tmp_path):
    """The program writes its transcript late, so a limit may be seen one step later than it is passed."""
    watched = guarded("[guards.budget]\nmax_tokens = 300\nwarn_at = 1.0")
    spawns = [[agent(part)] for part in "abcd"]
    parts = {"main": [[command("echo 1")], [command("echo 2")], *spawns, ["All done."]]}
    model = Model({**parts, **{part: [["result"]] for part in "abcd"}})
    assert run_program(tmp_path, model, attached_by_command(tmp_path, watched, "enforce")) == "All done."
    run = the_one_run(watched)
    assert "budget" in rules(watched.detections(run))
    assert not model.seen_by("d"), "the last spawn was denied"
    used = [line["usage"] for line in watched.trace(run) if "usage" in line]
    # Each reply of the scripted model used 100 and 10 tokens.
    replies = sum(each.get("model_calls", 0) for each in used)
    assert 3 <= replies <= len(model.requests)
    assert sum(each.get("input_tokens", 0) for each in used) == 100 * replies
    assert sum(each.get("output_tokens", 0) for each in used) == 10 * replies
    head = watched.trace(run)[0]
    assert head["labels"]["project"] == "project"


# ---- holds


@REAL
def test_a_hold_puts_a_spawn_before_the_user(guarded, tmp_path):
    """Without a terminal the program answers for its user: no."""
    watched = guarded("[guards.fan_out]\nmax_outputs = 1\naction = 'hold'")
    parts = {"main": [[agent("a"), agent("b")], ["It works."], ["All done."]], "a": [["result a"]], "b": [["never"]]}
    session = play("hold", tmp_path, watched.url("enforce"), parts)
    assert permissions(session) == ["ask"]
    run = the_one_run(watched)
    assert run["ended"] == "success"
    assert len(guard_detections(watched, "fan_out")) == 1
    assert any(line.get("of") == "hold:1" and line["applied"] == "released" for line in watched.trace(run))


# ---- hooks that come too late


@REAL
def test_a_hook_that_times_out_lets_the_agent_go_on(guarded, tmp_path):
    """The answer to one call is withheld until the session has ended without it."""
    watched = guarded("")
    over = threading.Event()

    def keep_back(call):
        if call["hook_event_name"] == "PreToolUse" and call.get("agent_id"):
            over.wait(TIMEOUT_S)
        if call["hook_event_name"] == "SessionEnd":
            over.set()

    session = play("late", tmp_path, watched.url("enforce"), THREE, keep_back, hook_timeout_s=1)
    assert over.is_set()
    assert session.result == "All done."
