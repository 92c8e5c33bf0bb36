"""A healthy session of the real Claude Code asks its models the same and writes the same, with digd or without."""

import json
import re

import pytest
from attach_test import digctl, settings_in
from claude_code_test import Watched, agent, command
from coding_agent import program, run_program
from fake_model import Model
from live import DIGCTL

# The main agent waits for its subagents, so that the order of their results is the same in every session.
PARALLEL = [agent(part, run_in_background=False) for part in "abc"]
SESSION = {"main": [PARALLEL, [command("cat *.txt > all.txt")], ["All done."]]} | {
    part: [[command(f"echo work of {part} > {part}.txt")], [f"result {part}"]] for part in "abc"
}
# What differs from session to session: ids, times, sizes of what the scripted model was asked before.
DIFFERENT = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
    (r"\ba[0-9a-f]{16}\b", "AGENT"),
    (r"toolu_\d+_", "toolu_"),
    (r"(duration_ms|tokens|tool_uses)(\W{1,4})\d+", r"\1\2N"),
    (r"cch=[0-9a-z]+", "cch"),
]


def in_order(message):
    """Results of parallel calls come in the order in which the calls ended; the last one marks the cache."""
    if isinstance(message["content"], str):
        return message
    content = [{key: value for key, value in block.items() if key != "cache_control"} for block in message["content"]]
    if all(block["type"] == "tool_result" for block in content):
        content.sort(key=lambda block: block["tool_use_id"])
    return message | {"content": content}


def without_differences(messages, folder) -> str:
    text = json.dumps([in_order(each) for each in messages], sort_keys=True).replace(str(folder), "FOLDER")
    text = text.replace(re.sub(r"[^A-Za-z0-9]", "-", str(folder)), "FOLDER")
    for pattern, replacement in DIFFERENT:
        text = re.sub(pattern, replacement, text)
    return text


def observed(folder, settings):
    """Runs the session; returns what each agent asked its model, in order, the files, and the answer."""
    model = Model(SESSION)
    folder.mkdir(exist_ok=True)
    answer = run_program(folder, model, settings)
    asked = {part: [without_differences(each["messages"], folder) for each in model.seen_by(part)] for part in SESSION}
    files = {path.name: path.read_text() for path in sorted((folder / "project").iterdir())}
    return asked, files, answer


@pytest.mark.skipif(program() is None, reason="needs the real program: what it does is compared")
def test_a_healthy_session_is_the_same_with_digd_and_without(daemon, tmp_path):
    plain = observed(tmp_path / "plain", {})
    assert sorted(plain[1]) == ["a.txt", "all.txt", "b.txt", "c.txt"]
    assert {part: len(asked) for part, asked in plain[0].items()} == {"main": 3, "a": 2, "b": 2, "c": 2}
    for mode in ("shadow", "enforce"):
        home = tmp_path / mode / "home"
        home.mkdir(parents=True)
        assert digctl("attach", "claude-code", mode, "--to", daemon.address, cwd=home).returncode == 0
        settings = settings_in(home)
        start = settings["hooks"]["SessionStart"][0]["hooks"][0]
        start["command"] = start["command"].replace("digctl", str(DIGCTL), 1)
        assert observed(tmp_path / mode, settings) == plain, mode
    watched = Watched(daemon)
    runs = watched.runs()
    assert [run["mode"] for run in runs] == ["shadow", "enforce"]
    assert [watched.detections(run) for run in runs] == [[], []]
