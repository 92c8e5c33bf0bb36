"""hooks.transcript_roots: for HTTP hooks the daemon reads usage below these folders, and never through links."""

import json
import os

import pytest
from claude_code_test import Watched, the_one_run
from coding_agent import post
from live import Daemon

USAGE = {"input_tokens": 800, "output_tokens": 90}
REPLY = {"message": {"role": "assistant", "id": "r1", "model": "m", "usage": USAGE}}
HEAD = {"session_id": "s1", "prompt_id": "p1", "cwd": "/home/dev/shop"}


@pytest.fixture
def home(tmp_path):
    """A folder that may be read, and one that may not."""
    (tmp_path / "projects" / "shop").mkdir(parents=True)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "s1.jsonl").write_text(json.dumps(REPLY) + "\n")
    return tmp_path


@pytest.fixture
def watched(home):
    config = f"threads = 2\nverdict_deadline_ms = 20000\n[hooks]\ntranscript_roots = ['{home / 'projects'}']\n"
    with Daemon(home / "daemon", config) as daemon:
        yield Watched(daemon)


def play(watched, path):
    """A prompt and its answer; returns the sums of what the run used."""
    for call in (
        {"hook_event_name": "UserPromptSubmit", "prompt": "go"},
        {"hook_event_name": "Stop", "last_assistant_message": "done", "transcript_path": str(path)},
        {"hook_event_name": "SessionEnd"},
    ):
        assert post(watched.url(), {**HEAD, **call}).answer == {}
    sums = {}
    for line in watched.trace(the_one_run(watched)):
        for name, number in line.get("usage", {}).items():
            sums[name] = sums.get(name, 0) + number
    return sums


def counts(watched):
    return [watched.metric(f"digd_hook_transcripts_{outcome}_total") for outcome in ("read", "refused")]


def test_usage_comes_from_a_transcript_below_a_configured_folder(watched, home):
    transcript = home / "projects" / "shop" / "s1.jsonl"
    transcript.write_text(json.dumps(REPLY) + "\n")
    used = play(watched, transcript)
    assert (used["input_tokens"], used["output_tokens"], used["model_calls"]) == (800, 90, 1)
    assert counts(watched) == [1, 0]


def outside(home):
    return home / "private" / "s1.jsonl"


def beside_by_name(home):
    """A folder whose name begins like that of the configured one."""
    (home / "projects-old").mkdir()
    (home / "projects-old" / "s1.jsonl").write_text(json.dumps(REPLY) + "\n")
    return home / "projects-old" / "s1.jsonl"


def by_dots(home):
    return f"{home}/projects/shop/../../private/s1.jsonl"


def linked_file(home):
    (home / "projects" / "s1.jsonl").symlink_to(home / "private" / "s1.jsonl")
    return home / "projects" / "s1.jsonl"


def linked_folder(home):
    (home / "projects" / "link").symlink_to(home / "private")
    return home / "projects" / "link" / "s1.jsonl"


def hard_link(home):
    os.link(home / "private" / "s1.jsonl", home / "projects" / "s1.jsonl")
    return home / "projects" / "s1.jsonl"


def pipe(home):
    os.mkfifo(home / "projects" / "s1.jsonl")
    return home / "projects" / "s1.jsonl"


def folder(home):
    return home / "projects" / "shop"


def too_long(home):
    path = home / "projects" / "s1.jsonl"
    with open(path, "w") as file:
        file.write(json.dumps(REPLY) + "\n")
        file.truncate((64 << 20) + 1)
    return path


REFUSED = [outside, beside_by_name, by_dots, linked_file, linked_folder, hard_link, pipe, folder, too_long]


@pytest.mark.parametrize("place", REFUSED, ids=lambda place: place.__name__)
def test_no_other_file_is_read_and_the_agent_goes_on(watched, home, place):
    assert "input_tokens" not in play(watched, place(home))
    assert counts(watched) == [0, 1]


def test_without_configured_folders_no_transcript_is_read(daemon, tmp_path):
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text(json.dumps(REPLY) + "\n")
    watched = Watched(daemon)
    assert "input_tokens" not in play(watched, transcript)
    assert counts(watched) == [0, 0]
