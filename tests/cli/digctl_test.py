"""digctl import, show and replay on good and on bad input."""

import json
import re
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import Daemon  # noqa: E402
from sample_logs import LOG  # noqa: E402
from tail_helpers import DIGCTL  # noqa: E402

GRAPH = {
    "schema": "dig.graph.v2",
    "created_at": 1.0,
    "event_counter": 1,
    "activation_counter": 0,
    "activations": {},
    "events": {
        "e1": {
            "id": "e1",
            "payload": {},
            "label": "communication",
            "source_activation_id": None,
            "metadata": {},
            "recipients": {},
            "timestamps": [],
            "delivery_policy": None,
        }
    },
}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(LOG))
    return path


# ---- import


def test_one_log_goes_to_stdout_and_its_summary_to_stderr(digctl, log):
    got = digctl("import", "whowhen", log)
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout.splitlines()[0])["type"] == "hello"
    assert "stated" in got.stderr and "inferred" in got.stderr and "log.json" in got.stderr


def test_an_imported_log_can_be_replayed_and_shown(digctl, log, tmp_path):
    assert digctl("import", "whowhen", log, "-o", tmp_path / "t.jsonl").returncode == 0
    assert digctl("replay", tmp_path / "t.jsonl").returncode == 0
    assert "Solver" in digctl("show", tmp_path / "t.jsonl").stdout


def test_a_folder_is_imported_into_a_folder_of_the_same_layout(digctl, tmp_path):
    for name in ("a/1.json", "b/1.json", "b/2.json"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(json.dumps(LOG))
    got = digctl("import", "whowhen", tmp_path / "in", "-o", tmp_path / "out")
    assert got.returncode == 0, got.stderr
    assert sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.jsonl")) == [
        "a/1.jsonl",
        "b/1.jsonl",
        "b/2.jsonl",
    ]
    *each, sum = got.stderr.splitlines()
    assert len(each) == 3 and all(" -> " in line for line in each)
    assert all(line.endswith("inferred") and "messages" in line for line in each)
    assert sum.startswith("3 of 3 imported. ")


def test_one_bad_log_does_not_stop_the_others(digctl, log, tmp_path):
    (tmp_path / "bad.json").write_text("{")
    got = digctl("import", "whowhen", tmp_path / "bad.json", tmp_path / "none.json", log, "-o", tmp_path / "out")
    assert got.returncode == 2
    assert "bad.json: " in got.stderr and "none.json: there is no such file" in got.stderr
    assert (tmp_path / "out" / "log.jsonl").exists() and not (tmp_path / "out" / "bad.jsonl").exists()


def test_two_logs_of_one_name_are_refused(digctl, tmp_path):
    for name in ("a/1.json", "b/1.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(json.dumps(LOG))
    got = digctl("import", "whowhen", tmp_path / "a/1.json", tmp_path / "b/1.json", "-o", tmp_path / "out")
    assert got.returncode == 2 and "the trace of an earlier log" in got.stderr
    assert digctl("import", "whowhen", tmp_path / "a/1.json", tmp_path / "b/1.json").returncode == 2


def test_a_failed_import_keeps_the_old_trace(digctl, tmp_path):
    (tmp_path / "t.jsonl").write_text("old")
    (tmp_path / "bad.json").write_text("[]")
    assert digctl("import", "dig-graph", tmp_path / "bad.json", "-o", tmp_path / "t.jsonl").returncode == 2
    assert (tmp_path / "t.jsonl").read_text() == "old"


def test_a_graph_from_stdin_is_imported_under_the_given_name(digctl):
    got = digctl("import", "dig-graph", "-", "--run", "mine", stdin=json.dumps(GRAPH))
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout.splitlines()[0])["run"] == "mine"


def test_wrong_usage_of_import_is_refused(digctl, log, tmp_path):
    for args in (
        [],
        ["whowhen"],
        ["nonsense", log],
        ["whowhen", log, "--step-ms", "0"],
        ["whowhen", tmp_path / "none"],
        ["whowhen", log, "-o", tmp_path / "no" / "such" / "folder.jsonl"],
    ):
        got = digctl("import", *args)
        assert got.returncode == 2 and got.stderr, args


def test_file_names_are_escaped_on_the_terminal(digctl, tmp_path):
    got = digctl("import", "whowhen", str(tmp_path) + "/x\x1b[2J\n.json")
    assert got.returncode == 2 and "\x1b" not in got.stderr and "\\u001b" in got.stderr


# ---- show


def test_the_terminal_picture_has_lanes_rows_and_findings(digctl, trace):
    got = digctl("show", trace, "--width", "100")
    assert got.returncode == 0, got.stderr
    for words in (
        "planner",
        "coder",
        "tester",
        "e4 OE",
        "✕reviewer",
        "early_termination",
        "healed: given back",
        "sys:1",
    ):
        assert words in got.stdout, words
    assert "\x1b" not in got.stdout


def test_colour_is_used_only_if_requested(digctl, trace):
    assert "\x1b[1;31m" in digctl("show", trace, "--color", "always").stdout
    assert "\x1b" not in digctl("show", trace, "--color", "auto").stdout


def test_filters_narrow_the_picture(digctl, trace):
    assert "coder" not in digctl("show", trace, "--agent", "planner", "--no-legend").stdout.splitlines()[2]
    assert "v2" not in digctl("show", trace, "--before", "25").stdout
    assert "v1" not in digctl("show", trace, "--after", "1000").stdout
    assert "orphaned" not in digctl("show", trace, "--rule", "early_termination").stdout
    around = digctl("show", trace, "--around", "e2").stdout
    assert "v1" in around and "v2" in around and "sys:1" not in around


def test_the_svg_is_a_well_formed_file(digctl, trace, tmp_path):
    got = digctl("show", trace, "--svg", "-o", tmp_path / "x.svg")
    assert got.returncode == 0 and got.stdout == ""
    picture = xml.dom.minidom.parse(str(tmp_path / "x.svg"))
    titles = [t.firstChild.data for t in picture.getElementsByTagName("title")]
    assert sum(t.startswith("activation ") for t in titles) == 2


def test_an_svg_over_the_limit_reports_the_truncation(digctl, trace):
    got = digctl("show", trace, "--svg", "--limit", "3")
    assert "shows 3 of" in got.stdout and "shows 3 of" in got.stderr


def test_graphviz_accepts_the_dot_output(digctl, trace):
    got = digctl("show", trace, "--dot")
    assert got.stdout.startswith("digraph")
    assert subprocess.run(["dot", "-Tsvg"], input=got.stdout, capture_output=True, encoding="utf-8").returncode == 0


def test_hostile_names_are_escaped_in_text_and_svg(digctl, tmp_path):
    name = "</text><script>\"'&\x07\x1b[31m\u202e名"
    trace = tmp_path / "t.jsonl"
    trace.write_text(
        "\n".join(
            json.dumps(line)
            for line in [
                {"type": "hello", "protocol": 1, "run": name, "agents": [name], "clock": "trace"},
                {"type": "event", "seq": 1, "event": {"id": name, "kind": name, "recipients": [name, name + "x"]}},
                {"type": "activation_started", "seq": 2, "activation": name, "agent": name, "inputs": [name]},
            ]
        )
    )
    text = digctl("show", trace, "--text").stdout
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
    svg = digctl("show", trace, "--svg").stdout
    xml.dom.minidom.parseString(svg.encode())
    assert "<script" not in svg and "\u202e" not in svg


def test_wrong_usage_of_show_is_refused(digctl, trace, tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "bad").write_text('{"type":"time","seq":1}\n')
    for args in (
        [],
        [tmp_path / "none"],
        [tmp_path],
        [tmp_path / "empty"],
        [tmp_path / "bad"],
        [trace, "--rule", "nonsense"],
        [trace, "--width", "3"],
        [trace, "--agent", "nobody at all"],
        [trace, "--around", "no such"],
        [trace, "--svg", "--dot"],
        [trace, "--svg", "-o", tmp_path / "no" / "x.svg"],
    ):
        got = digctl("show", *args)
        assert got.returncode == 2, args
        assert got.stderr or "note: no " in got.stdout, args


# ---- replay


def test_replay_prints_detections_and_frames(digctl, trace):
    table = digctl("replay", trace).stdout
    assert "orphaned_event" in table and "healed: reroute" in table
    frames = [
        json.loads(line)
        for line in digctl("replay", trace, "--format", "jsonl", "--output", "messages").stdout.splitlines()
    ]
    assert [f["type"] for f in frames[:3]] == ["verdicts"] * 3
    assert "sys:1" in digctl("replay", trace, "--output", "messages").stdout


@pytest.mark.parametrize("output", ["detections", "messages"])
def test_json_has_the_records_of_json_lines_as_an_array(digctl, trace, tmp_path, output):
    lines = digctl("replay", trace, "--format", "jsonl", "--output", output).stdout.splitlines()
    assert len(lines) > 1
    array = json.loads(digctl("replay", trace, "--format", "json", "--output", output).stdout)
    assert array == [json.loads(line) for line in lines]
    quiet = tmp_path / "quiet.jsonl"
    quiet.write_text(trace.read_text().splitlines()[0] + "\n")
    assert json.loads(digctl("replay", quiet, "--format", "json", "--output", output).stdout) == []


def test_a_narrow_table_wraps_its_reasons(digctl, trace):
    lines = digctl("replay", trace, "--width", "110").stdout.splitlines()
    assert max(map(len, lines)) <= 110


def test_fail_on_decides_the_exit_status(digctl, trace):
    assert digctl("replay", trace, "--fail-on", "any").returncode == 1
    assert digctl("replay", trace, "--fail-on", "missing_termination").returncode == 0
    assert digctl("replay", trace, "--fail-on", "nonsense").returncode == 2


def test_every_command_has_help(digctl):
    for command in ("import", "replay", "rules", "send", "show"):
        got = digctl(command, "--help")
        assert got.returncode == 0 and got.stdout


# ---- wrong usage


@pytest.mark.parametrize(
    "words, message",
    [
        (("replya", "x"), 'there is no command "replya"; did you mean "replay"?'),
        (("xyzzyxyzzy",), 'there is no command "xyzzyxyzzy"; digctl --help lists them'),
    ],
)
def test_an_unknown_command_is_refused_with_the_nearest_one(digctl, words, message):
    got = digctl(*words)
    assert got.returncode == 2
    assert message in got.stderr


@pytest.mark.parametrize(
    "words, message",
    [
        (["replay", "x", "--to", "h:1"], 'digctl replay: does not take "--to" "h:1"\n'),
        (["report"], "digctl report: TRACE|RUN is required\n"),
        (["attribute"], "digctl attribute: name a command\n"),
        (["attribute", "chief"], "digctl attribute chief: FILE|RUN is required\n"),
    ],
)
def test_wrong_usage_names_the_command_the_mistake_and_the_help(digctl, words, message):
    done = digctl(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == message + f"`{message.split(':')[0]} --help` explains the command.\n"


def test_replay_and_check_have_the_clock_of_the_report(digctl):
    demo = Path(__file__).parents[1] / "traces/demo.jsonl"
    report = digctl("report", demo, "--budget", 0, "--format", "md").stdout
    times = re.findall(r"^### \w+ \d+\. (.+?) at (\S+ \S+)", report, re.M)
    assert len(times) == 9
    replayed = re.findall(r"^(\S+ m?s) +\S+ +(\w+)", digctl("replay", demo).stdout, re.M)
    assert [(rule.replace("_", " "), time) for time, rule in replayed] == times
    checked = re.findall(r": (\w+) fired at (\S+ m?s)", digctl("check", demo).stdout)
    assert len(checked) == 7 and {(rule.replace("_", " "), time) for rule, time in checked} <= set(times)


def test_a_trace_with_invalid_json_lines_is_answered_and_exits_with_2(digctl, tmp_path):
    trace = tmp_path / "t.jsonl"
    hello = '{"type":"hello","protocol":1,"run":"r1","clock":"trace"}'
    trace.write_text(hello + '\n{"type":"time","seq":1}\nno JSON\n{"type":"time","seq":3}\n')
    got = digctl("replay", trace, "--output", "messages", "--format", "jsonl")
    assert got.returncode == 2
    assert json.loads(got.stdout)["code"] == "bad_json"
    assert "2 messages, 1 refused" in got.stderr and "line 3: bad_json: " in got.stderr


def test_a_refusal_line_for_a_broken_frame_is_valid_input(digctl, tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text(
        '{"type":"hello","protocol":1,"run":"r1","clock":"trace"}\n'
        '{"session":"main","ts":5,"type":"refused","seq":1,"code":"bad_json","message":"no JSON: x"}\n'
    )
    got = digctl("replay", trace, "--output", "messages", "--format", "jsonl")
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout) == {
        "type": "error",
        "code": "bad_json",
        "seq": 1,
        "message": "no JSON: x",
        "fatal": False,
    }


# ---- what cannot be read


READ_FILES = [
    "replay FILE",
    "send FILE --to 127.0.0.1:1",
    "show FILE --to 127.0.0.1:1",
    "check FILE --to 127.0.0.1:1",
    "report FILE --to 127.0.0.1:1",
    "attribute chief FILE --to 127.0.0.1:1",
    "attribute shapley FILE --to 127.0.0.1:1",
    "import otlp FILE",
    "causal explain --csv FILE",
    "restore FILE --data-dir .",
]
READ_FILES_OR_FOLDERS = [
    "import whowhen FILE",
    "import dig-graph FILE",
    "import codex FILE -o OUT",
    "causal factors FILE",
]
READ_FOLDERS = [
    "eval whowhen FILE",
    "eval frameworks FILE",
    "chief-train --data FILE",
    "causal eval FILE",
    "backup OUT --data-dir FILE",
    "restore COPY --data-dir FILE",
]


def refused(digctl, command, path):
    """What a command says of `path`, without its own name. It prints nothing else, no table header either."""
    out, copy = path.parent / "out", path.parent / "copy"
    copy.write_text("")
    words = [{"FILE": path, "OUT": out, "COPY": copy}.get(word, word) for word in command.split()]
    got = digctl(*words)
    assert got.returncode == 2 and got.stdout == "" and not out.exists(), (words, got)
    name, _, problem = got.stderr.partition(f": {path}: ")
    assert name.startswith("digctl "), got.stderr
    return problem.strip()


@pytest.mark.parametrize("command", READ_FILES)
def test_a_folder_is_called_a_folder(digctl, tmp_path, command):
    (tmp_path / "folder").mkdir()
    assert refused(digctl, command, tmp_path / "folder") == "it is a folder"


@pytest.mark.parametrize("command", READ_FILES + READ_FILES_OR_FOLDERS)
def test_a_missing_file_is_called_missing(digctl, tmp_path, command):
    assert refused(digctl, command, tmp_path / "none").startswith("there is no such file")


@pytest.mark.parametrize("command", READ_FOLDERS)
def test_a_missing_folder_and_a_file_in_its_place_are_called_that(digctl, tmp_path, command):
    assert refused(digctl, command, tmp_path / "none") == "there is no such folder"
    file = tmp_path / "file"
    file.write_text("")
    assert refused(digctl, command, file) == "it is not a folder"


def test_a_missing_trace_is_called_missing(digctl, tmp_path):
    none = tmp_path / "none"
    for args in (("replay",), ("send", "--to", "127.0.0.1:1")):
        got = digctl(args[0], none, *args[1:])
        assert got.returncode == 2 and "there is no such file" in got.stderr
    # It may be the name of a run, too. The file comes first, since a mistyped path is more common.
    for command in (["show"], ["check"], ["report"], ["attribute", "chief"], ["attribute", "shapley"]):
        got = digctl(*command, none, "--to", "127.0.0.1:1")
        assert got.returncode == 2 and got.stdout == ""
        begins = f"digctl {' '.join(command)}: {none}: there is no such file, nor such a run: nobody listens on"
        assert got.stderr.startswith(begins), got.stderr


def test_an_error_of_send_comes_without_a_table_header(digctl, trace):
    got = digctl("send", trace, "--to", "127.0.0.1:1")
    assert got.returncode == 2 and "nobody listens" in got.stderr
    assert got.stdout == ""
    assert digctl("send", trace, "--to", "127.0.0.1:1", "--format", "json").stdout.strip() == "[]"


def test_counts_of_one_are_singular(digctl, tmp_path):
    trace = tmp_path / "one.jsonl"
    hello = {"type": "hello", "protocol": 1, "run": "one", "agents": ["a"], "clock": "trace"}
    event = {"type": "event", "seq": 1, "ts": 1, "event": {"id": "e1", "recipients": ["ghost"]}}
    trace.write_text(json.dumps(hello) + "\n" + json.dumps(event) + "\n")
    assert digctl("replay", trace).stderr == "1 message, 0 refused, 1 detection, 0 healed\n"
    with Daemon(tmp_path / "daemon") as daemon:
        sent = digctl("send", trace, "--to", daemon.address).stderr
        again = digctl("send", trace, "--to", daemon.address).stderr
    assert sent == "1 message, 1 verdict, 0 interventions, 0 errors; 1 acked\n"
    assert ", 1 was already there" in again


def test_errors_of_a_replay_come_before_its_table(tmp_path, trace):
    broken = tmp_path / "broken.jsonl"
    lines = trace.read_text().splitlines(keepends=True)
    broken.write_text("".join([*lines, '{"type":"time","seq":1,"ts":1,"nope":}\n', lines[1]]))
    got = subprocess.run([DIGCTL, "replay", broken], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert got.returncode == 2
    assert "line 8: " in got.stdout and got.stdout.index("line 8: ") < got.stdout.index("orphaned_event")
