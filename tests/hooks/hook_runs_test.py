"""How runs of hooks end without the program's help, whose they are, and how long a hook waits."""

import json
import time
import urllib.parse

import pytest
from coding_agent import post
from litellm_test import PATH, asked
from litellm_test import post as post_json
from live import Daemon, wait_until
from preloaded import PreloadedDaemon
from token_access import entry, ingest, send_and_wait, status_of

QUICK = "threads = 2\nverdict_deadline_ms = 20000\n[connections]\nquiet_ms = 1000\n"
CALL = {"session_id": "s1", "prompt_id": "p1"}
A, B, READER = "1" * 64, "2" * 64, "3" * 64


def runs(daemon, token=None):
    status, text = status_of(daemon, "/v1/runs?limit=200", token)
    assert status == 200
    return {run["run"]: run for run in json.loads(text)["runs"]}


def metric(daemon, name, token=None):
    _, text = status_of(daemon, "/metrics", token)
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))


def hook(daemon, call, token=None):
    headers = {"Authorization": "Bearer " + token} if token else {}
    return post_json(f"http://{daemon.address}/v1/hooks/claude-code", CALL | call, headers)


def test_each_model_call_without_a_trace_is_a_run_that_ends_with_its_answer(tmp_path):
    with Daemon(tmp_path, "runs = 3\nverdict_deadline_ms = 20000\n") as daemon:
        for n in range(10):
            url = f"http://{daemon.address}{PATH}"
            call = asked("q", litellm_trace_id=None, litellm_call_id=f"c{n}")
            assert post_json(url, call) == (200, {"action": "NONE"})
        wait_until(lambda: [run["state"] for run in runs(daemon).values()] == ["ended"] * 10, "the ends")
        assert metric(daemon, "digd_hook_skipped_total") == 0


def test_runs_for_which_no_call_comes_end_and_are_counted(tmp_path):
    with Daemon(tmp_path, QUICK) as daemon:
        assert hook(daemon, {"hook_event_name": "UserPromptSubmit", "prompt": "go"}) == (200, {})
        assert post_json(f"http://{daemon.address}{PATH}", asked("q"))[0] == 200
        with daemon.client("other") as client:
            client.event("e1", ["a"])
            client.wait_acked()
        wait_until(lambda: metric(daemon, "digd_hook_idle_runs_total") == 2, "the ends")
        ends = {"s1/p1": "aborted", "litellm-trace-12345678/calls": "unknown", "other": None}
        wait_until(lambda: {name: run.get("ended") for name, run in runs(daemon).items()} == ends, "their archiving")
        assert post_json(f"http://{daemon.address}{PATH}", asked("q"))[0] == 200
        names = wait_until(lambda: len(runs(daemon)) == 4 and set(runs(daemon)), "the run of the next call")
        assert any(name.startswith("litellm-trace-12345678/calls.") for name in names)


def test_after_a_restart_runs_for_which_no_call_comes_end_too(tmp_path):
    with Daemon(tmp_path, QUICK.replace("1000", "3600000")) as daemon:
        hook(daemon, {"hook_event_name": "UserPromptSubmit", "prompt": "go"})
        with daemon.client("other") as client:
            client.event("e1", ["a"])
            client.wait_acked()
        wait_until(lambda: "s1/p1" in runs(daemon), "the run")
        daemon.kill()
        daemon.config.write_text(QUICK)
        daemon.start()
        wait_until(lambda: runs(daemon)["s1/p1"]["state"] == "ended", "the end")
        assert runs(daemon)["s1/p1"]["ended"] == "unknown"  # digd does not know whether the agent had answered
        assert runs(daemon)["other"]["state"] == "open"
        assert metric(daemon, "digd_hook_idle_runs_total") == 1


@pytest.fixture
def owned(tmp_path):
    """A daemon with the tokens A, which may have one run, and B, which may send one message a second."""
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(
        entry("a", A, ["ingest"], "max_runs = 1") + entry("b", B, ["ingest"], "rate = 1") + entry("r", READER, ["read"])
    )
    with Daemon(tmp_path / "daemon", f'tokens = "{tokens}"\nverdict_deadline_ms = 20000\n') as daemon:
        yield daemon


def test_a_session_belongs_to_its_token_also_after_a_restart(owned):
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "go"}
    tool = {"hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": "t1", "tool_input": {"prompt": "x"}}
    assert hook(owned, prompt, A) == (200, {})
    status, answer = hook(owned, tool, B)
    assert (status, answer["error"]["code"]) == (403, "forbidden")
    assert "belongs to another token" in answer["error"]["message"]
    wait_until(lambda: "s1/p1" in runs(owned, READER), "the run")
    owned.kill()
    owned.start()
    assert hook(owned, tool, B)[0] == 403
    assert hook(owned, tool, A)[0] == 200  # the foreign call did not take the session
    assert metric(owned, "digd_hook_forbidden_total", READER) == 1
    name = urllib.parse.quote("s1/p1", safe="")

    def tasks():
        return [line for line in status_of(owned, f"/v1/runs/{name}/trace", READER)[1].splitlines() if '"task"' in line]

    assert len(wait_until(tasks, "the task")) == 1


def test_a_token_has_no_more_runs_of_hooks_than_its_max_runs(owned):
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "go"}
    assert hook(owned, prompt, A) == (200, {})
    assert hook(owned, prompt | {"session_id": "s2"}, A) == (200, {})  # the agent continues
    owned.wait_logged('hook_run_refused run="s2/p1" code=over_limit reason="the token has reached its max_runs')
    assert metric(owned, "digd_hook_skipped_total", READER) == 1
    with ingest(owned, A) as socket:
        hello = {"type": "hello", "protocol": 1, "run": "r1"}
        assert "max_runs" in send_and_wait(socket, hello, until="error")["message"]
    assert hook(owned, {"hook_event_name": "SessionEnd"}, A) == (200, {})
    assert hook(owned, prompt | {"session_id": "s2", "prompt_id": "p2"}, A) == (200, {})
    wait_until(lambda: set(runs(owned, READER)) == {"s1/p1", "s2/p2"}, "the runs")


def test_the_rate_of_a_token_is_checked_before_the_body_is_read(owned):
    answers = [status_of(owned, "/v1/hooks/claude-code", B, "POST", b"no JSON")[0] for _ in range(4)]
    assert answers[0] == 400
    assert answers[-1] == 503


class SlowTranscripts(PreloadedDaemon):
    """Opening a file named slow.jsonl takes 8 seconds, and one named late.jsonl 2 seconds."""

    SOURCE = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <fcntl.h>
    #include <stdarg.h>
    #include <string.h>
    #include <unistd.h>
    static void wait_for(const char* name) {
      if (strcmp(name, "slow.jsonl") == 0) sleep(8);
      if (strcmp(name, "late.jsonl") == 0) sleep(2);
    }
    #define OPEN(function)                                                        \
      int function(int at, const char* name, int flags, ...) {                    \
        static int (*real)(int, const char*, int, ...);                           \
        if (!real) real = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, #function); \
        va_list more;                                                             \
        va_start(more, flags);                                                    \
        mode_t mode = va_arg(more, mode_t);                                       \
        va_end(more);                                                             \
        wait_for(name);                                                           \
        return real(at, name, flags, mode);                                       \
      }
    #define OPEN_2(function)                                                      \
      int function(int at, const char* name, int flags) {                         \
        static int (*real)(int, const char*, int);                                \
        if (!real) real = (int (*)(int, const char*, int))dlsym(RTLD_NEXT, #function); \
        wait_for(name);                                                           \
        return real(at, name, flags);                                             \
      }
    OPEN(openat)
    OPEN(openat64)
    OPEN_2(__openat_2)
    OPEN_2(__openat64_2)
    """
    VARIABLE = "UNUSED"


REPLY = {"message": {"role": "assistant", "id": "r1", "model": "m", "usage": {"input_tokens": 800}}}


@pytest.fixture
def slow(tmp_path):
    """A daemon that waits for transcripts, and the folder in which they are."""
    folder = tmp_path / "projects"
    folder.mkdir()
    for name in ("slow", "late"):
        (folder / f"{name}.jsonl").write_text(json.dumps(REPLY) + "\n")
    daemon = SlowTranscripts(tmp_path / "daemon")
    daemon.config.write_text(f"verdict_deadline_ms = 1000\n[hooks]\ntranscript_roots = ['{folder}']\n")
    with daemon:
        yield daemon, folder


def used_tokens(daemon):
    name = urllib.parse.quote("s1/p1", safe="")
    lines = status_of(daemon, f"/v1/runs/{name}/trace")[1].splitlines()
    return [used for line in map(json.loads, lines) if (used := line.get("usage", {}).get("input_tokens"))]


def test_the_deadline_begins_when_the_transcript_is_read(slow):
    daemon, folder = slow
    url = f"http://{daemon.address}/v1/hooks/claude-code?mode=enforce"
    spawn = {"tool_name": "Agent", "tool_use_id": "t1", "tool_input": {"prompt": "x", "subagent_type": "a"}}
    assert post(url, CALL | {"hook_event_name": "UserPromptSubmit", "prompt": "go"}).answer == {}
    assert post(url, CALL | {"hook_event_name": "PreToolUse"} | spawn).answer == {}
    assert post(url, CALL | {"hook_event_name": "SubagentStart", "agent_id": "x1", "agent_type": "a"}).answer == {}
    ends = {"hook_event_name": "SubagentStop", "agent_id": "x1", "agent_type": "a", "last_assistant_message": ""}
    assert post(url, CALL | ends).answer == {}
    stop = {"hook_event_name": "Stop", "last_assistant_message": "x", "transcript_path": f"{folder}/late.jsonl"}
    assert post(url, CALL | stop).answer["decision"] == "block"
    assert metric(daemon, "digd_hook_late_total") == 0
    wait_until(lambda: used_tokens(daemon) == [800], "the usage")


def test_facts_of_a_transcript_that_come_too_late_are_for_the_next_call(slow):
    daemon, folder = slow
    url = f"http://{daemon.address}/v1/hooks/claude-code"
    assert post(url, CALL | {"hook_event_name": "UserPromptSubmit", "prompt": "go"}).answer == {}
    tool = {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_use_id": "t1", "tool_input": {}}
    assert post(url, CALL | tool | {"transcript_path": f"{folder}/slow.jsonl"}).answer == {}
    assert metric(daemon, "digd_hook_late_total") == 1
    wait_until(lambda: metric(daemon, "digd_hook_transcripts_read_total") == 1, "the transcript")
    assert used_tokens(daemon) == []
    assert post(url, CALL | tool | {"tool_use_id": "t2"}).answer == {}
    wait_until(lambda: used_tokens(daemon) == [800], "the usage")


def test_a_slow_transcript_does_not_delay_the_answer_beyond_the_deadline(slow):
    daemon, folder = slow
    url = f"http://{daemon.address}/v1/hooks/claude-code"
    assert post(url, CALL | {"hook_event_name": "UserPromptSubmit", "prompt": "go"}).answer == {}
    begun = time.monotonic()
    stop = {"hook_event_name": "Stop", "last_assistant_message": "x", "transcript_path": f"{folder}/slow.jsonl"}
    assert post(url, CALL | stop).answer == {}
    assert time.monotonic() - begun < 7
    assert metric(daemon, "digd_hook_late_total") == 1
    assert post(url, CALL | {"hook_event_name": "SessionEnd"}).answer == {}
    wait_until(lambda: runs(daemon)["s1/p1"].get("ended") == "success", "the end with its answer")
