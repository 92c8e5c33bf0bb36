"""digctl check, and what replay and send say of refused messages."""

import json
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import Daemon  # noqa: E402

CLEAN = [
    {"type": "hello", "protocol": 1, "run": "clean", "agents": ["a"], "clock": "trace"},
    {"type": "event", "seq": 1, "ts": 1, "event": {"id": "e1", "recipients": ["a"]}},
    {"type": "activation_started", "seq": 2, "ts": 2, "activation": "v1", "agent": "a", "inputs": ["e1"]},
    {"type": "activation_ended", "seq": 3, "ts": 3, "activation": "v1",
     "outputs": [{"id": "e2", "recipients": [], "submit": True}]},
    {"type": "run_ended", "seq": 4, "ts": 4, "outcome": "success"},
]
ORPHAN = [CLEAN[0], {"type": "event", "seq": 1, "ts": 1, "event": {"id": "e1", "recipients": ["nobody <&>"]}}]


def write(path, messages):
    path.write_text("".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages))
    return path


@pytest.fixture
def clean(tmp_path):
    return write(tmp_path / "clean.jsonl", CLEAN)


@pytest.fixture
def orphan(tmp_path):
    return write(tmp_path / "orphan.jsonl", ORPHAN)


def test_a_clean_run_passes(digctl, clean):
    got = digctl("check", clean)
    assert got.returncode == 0 and got.stdout.startswith("ok ")


def test_an_unexpected_failure_is_named_with_its_place(digctl, orphan):
    got = digctl("check", orphan, "--expect", "none")
    assert got.returncode == 1
    assert "orphaned_event fired at 0 ms (seq 1): " in got.stdout


def test_an_expected_failure_passes_and_a_missing_one_fails(digctl, orphan):
    assert digctl("check", orphan, "--expect", "orphaned_event").returncode == 0
    got = digctl("check", orphan, "--expect", "orphaned_event,deadlock")
    assert got.returncode == 1 and "deadlock was expected and did not fire" in got.stdout


def test_several_runs_are_checked_and_written_as_junit(digctl, clean, orphan, tmp_path):
    file = tmp_path / "result.xml"
    got = digctl("check", clean, orphan, tmp_path / "missing.jsonl", "--junit", file)
    assert got.returncode == 2
    suite = xml.parse(file).getroot()
    assert suite.attrib["tests"] == "3" and suite.attrib["failures"] == "1" and suite.attrib["errors"] == "1"
    good, failed, unreadable = suite
    assert len(good) == 0
    assert 'nobody <&>' in failed[0].attrib["message"]
    assert unreadable[0].tag == "error"


def test_a_place_of_runs_that_is_unusable_is_named_once_also_in_junit(digctl, tmp_path):
    file = tmp_path / "result.xml"
    for options, problem in (
        (["--to", "nonsense"], '--to or DIGD_URL: "nonsense" is not an address of a daemon'),
        (["--data-dir", tmp_path / "none"], f"--data-dir: there is no archive {tmp_path}/none/digd.sqlite"),
    ):
        got = digctl("check", "r1", *options, "--junit", file)
        assert got.returncode == 2
        (line,) = got.stderr.splitlines()
        assert line.startswith(f"digctl check: r1: {problem}")
        assert xml.parse(file).getroot()[0][0].attrib["message"].startswith(problem)


def test_wrong_expectations_are_refused(digctl, clean):
    for expectation in ("nonsense", "none,deadlock"):
        got = digctl("check", clean, "--expect", expectation)
        assert got.returncode == 2 and "none" in got.stderr


def test_a_run_of_a_daemon_is_checked(digctl, clean, tmp_path):
    with Daemon(tmp_path / "daemon") as daemon:
        assert digctl("send", clean, "--to", daemon.address).returncode == 0
        assert digctl("check", "clean", "--to", daemon.address).returncode == 0


def test_replay_names_each_refused_line(digctl, tmp_path):
    trace = write(tmp_path / "t.jsonl", [*CLEAN[:2], "{no json", {**CLEAN[2], "seq": 3, "agent": 7}])
    got = digctl("replay", trace)
    assert got.returncode == 2
    assert "line 3: bad_json: " in got.stderr
    assert 'line 4: bad_message (field "agent"): ' in got.stderr


def test_replay_shows_the_first_refused_lines_and_counts_the_rest(digctl, tmp_path):
    trace = write(tmp_path / "t.jsonl", [CLEAN[0], *["{"] * 30])
    got = digctl("replay", trace)
    assert got.stderr.count(": bad_json: ") == 20 and "10 more messages were refused" in got.stderr


def test_a_recorded_refusal_is_not_an_error_of_the_trace(digctl, tmp_path):
    trace = write(tmp_path / "t.jsonl", [CLEAN[0], "{no json", *[{**m, "seq": m["seq"] + 1} for m in CLEAN[1:]]])
    with Daemon(tmp_path / "daemon") as daemon:
        assert digctl("send", trace, "--to", daemon.address).returncode == 2
        exported = tmp_path / "exported.jsonl"
        assert digctl("export", "clean", "--format", "trace", "-o", exported, "--to", daemon.address).returncode == 0
        assert digctl("replay", exported).returncode == 0
        again = digctl("send", exported, "--to", daemon.address, "--run", "again")
        assert again.returncode == 0, again.stderr


def test_send_fails_on_detections_of_the_run_also_on_those_without_a_verdict(digctl, tmp_path):
    trace = tmp_path / "stuck.jsonl"
    lines = [
        {"type": "hello", "protocol": 1, "run": "stuck", "agents": ["a"], "clock": "trace", "mode": "observe"},
        {"type": "event", "seq": 1, "ts": 0, "event": {"id": "task", "recipients": ["a"]}},
        {"type": "time", "seq": 2, "ts": 60_000},
    ]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Daemon(tmp_path / "d") as daemon:

        def status(kind, *args):
            return digctl("send", trace, "--to", daemon.address, "--fail-on", kind, *args).returncode

        assert [status(kind) for kind in ("deadlock", "failure", "any", "warning", "orphaned_event")] == [1, 1, 1, 0, 0]
        assert status("deadlock", "--run", "again") == 1
        assert status("dead_lock") == 2
    assert status("deadlock") == 2


def test_send_names_each_refused_line(digctl, tmp_path):
    trace = write(tmp_path / "t.jsonl", [*CLEAN[:2], {**CLEAN[2], "agent": 7}])
    with Daemon(tmp_path / "daemon") as daemon:
        got = digctl("send", trace, "--to", daemon.address)
    assert got.returncode == 2
    assert 'line 3: bad_message (field "agent"): ' in got.stderr


def test_one_rule_is_explained_by_name_and_by_code(digctl):
    assert digctl("rules", "deadlock").stdout == digctl("rules", "DL").stdout
    assert digctl("rules", "deadlock").stdout.startswith("deadlock (DL)")
    assert [r["rule"] for r in json.loads(digctl("rules", "DL", "--format", "json").stdout)] == ["deadlock"]
    got = digctl("rules", "deadlok")
    assert got.returncode == 2 and 'did you mean "deadlock"' in got.stderr


def test_rules_say_how_they_heal_and_guards_name_the_option_that_decides(digctl):
    first_lines = [part.split("\n")[0] for part in digctl("rules").stdout.split("\n\n") if part.strip()]
    assert "deadlock (DL), failure, heals by create" in first_lines
    assert "budget (BU), failure, acts as its option `action` says" in first_lines
    assert not [line for line in first_lines if "none" in line]


def test_rules_list_the_agents_they_except_among_the_options(digctl):
    text, (rule,) = digctl("rules", "deadlock").stdout, json.loads(digctl("rules", "DL", "--format", "json").stdout)
    assert " except=[]" in text and rule["options"]["except"] == []


@pytest.mark.parametrize("text", ["\x1b[31mred", "\x9b31mred", "\u202ered"])
def test_texts_of_a_rule_cannot_control_the_terminal(digctl, tmp_path, text):
    hello = {**ORPHAN[0], "mode": "enforce", "rules": {"orphaned_event": {"text": text}}}
    start = {"type": "activation_started", "seq": 1, "ts": 1, "activation": "v1", "agent": "a", "inputs": []}
    end = {"type": "activation_ended", "seq": 2, "ts": 2, "activation": "v1"}
    end["outputs"] = [{"id": "e1", "recipients": ["ghost"]}]
    got = digctl("replay", write(tmp_path / "t.jsonl", [hello, start, end]), "--output", "messages")
    assert got.returncode == 0, got.stderr
    assert "red" in got.stdout and text[0] not in got.stdout and f"\\u{ord(text[0]):04x}" in got.stdout


def test_commands_are_grouped_in_the_help(digctl):
    text = digctl("--help").stdout
    for heading in ("Begin:", "Look at runs:", "Operate a daemon:", "Work with traces:"):
        assert heading in text
    assert "completion" not in text


def test_fish_completes_commands_and_choices(digctl):
    text = digctl("completion", "fish").stdout
    assert "-a replay" in text
    assert "complete -c digctl -n '__fish_seen_subcommand_from replay' -l format -x -a 'table json jsonl'" in text
