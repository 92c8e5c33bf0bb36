"""The session that docs/coding-agents.md shows: Claude Code with four subagents, one of which comes back empty.

dashboard/tests/browser/coding_session.test.ts plays its recorded hook calls and makes the picture.
"""

from claude_code_test import Watched, agent, command, rules, the_one_run
from coding_agent import play

SESSION = {
    "main": [
        [agent("scout", name="scout"), agent("fix", name="fix"), agent("tests", name="tests")],
        ["They work."],
        ["The bug is fixed."],
    ],
    "scout": [[command("grep -n parse src/reader.c")], ["parse() reads one byte too many."]],
    "fix": [[agent("review", name="review")], ["parse() stops at the end of the buffer."]],
    "review": [["The change is right."]],
    "tests": [[command("make check")], [""]],
}


def test_the_documented_session_has_one_finding(daemon, tmp_path):
    watched = Watched(daemon)
    session = play("documentation", tmp_path, watched.url(), SESSION)
    run = the_one_run(watched)
    (found,) = watched.detections(run)
    assert rules([found]) == ["early_termination"]
    assert session.changed == []
    started = {line["agent"] for line in watched.trace(run) if line["type"] == "activation_started"}
    assert started == {"main", "scout", "fix", "review", "tests"}
