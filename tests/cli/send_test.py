"""digctl send against a scripted daemon: what it sends and prints, and that it resumes after a lost connection."""

import json
import time

from scripted_daemon import ScriptedDaemon, unused_port


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_sends_every_message_in_order_and_prints_the_answers(digctl, trace):
    with ScriptedDaemon() as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl")
    assert got.returncode == 0, got.stderr
    assert [m["seq"] for _, m in daemon.received] == [1, 2, 3, 4, 5, 6]
    assert [f["seq"] for f in lines(got.stdout)] == [1, 3, 5]
    assert "6 messages, 3 verdicts, 0 interventions, 0 errors; 6 acked" in got.stderr
    assert daemon.requests[0][0] == "/v1/ingest?run=r1"


def test_frames_are_printed_byte_for_byte_and_in_order(digctl, trace):
    intervention = {
        "type": "intervention",
        "id": "sys:1",
        "action": "create",
        "recipients": ["coder"],
        "inject": 'é"\n',
    }
    error = {"type": "error", "code": "over_limit", "seq": 3, "field": "", "message": "…", "fatal": False}
    with ScriptedDaemon(answers={3: [intervention, error]}) as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl")
    assert got.stdout.splitlines()[1:3] == [json.dumps(intervention), json.dumps(error)]
    with ScriptedDaemon(answers={3: [intervention, error]}) as daemon:
        array = json.loads(digctl("send", trace, "--to", daemon.url, "--format", "json").stdout)
    assert array == lines(got.stdout)
    assert "1 intervention, 1 error" in got.stderr


def test_the_table_shows_the_verdict_escaped(digctl, trace):
    verdict = {
        "type": "verdicts",
        "seq": 3,
        "verdicts": [
            {"event": "e2\u202e", "action": "reroute", "recipients": ["planner", "\x1b[31m"], "inject": "look\nat it"}
        ],
    }
    with ScriptedDaemon(answers={3: [verdict]}) as daemon:
        got = digctl("send", trace, "--to", daemon.url)
    assert "reroute" in got.stdout and "look at it" in got.stdout
    assert "\\u202e" in got.stdout and "\x1b" not in got.stdout


def test_a_trace_without_a_clock_is_sent_with_the_trace_clock(digctl, trace):
    trace.write_text(trace.read_text().replace('"clock":"trace",', ""))
    with ScriptedDaemon() as daemon:
        assert digctl("send", trace, "--to", daemon.url).returncode == 0
    assert daemon.hellos[0]["clock"] == "trace"


def test_a_stated_clock_is_kept(digctl, trace):
    trace.write_text(trace.read_text().replace('"clock":"trace",', '"clock":"wall",'))
    with ScriptedDaemon() as daemon:
        assert digctl("send", trace, "--to", daemon.url).returncode == 0
    assert daemon.hellos[0]["clock"] == "wall"


def test_a_run_can_be_renamed(digctl, trace):
    with ScriptedDaemon() as daemon:
        assert digctl("send", trace, "--to", daemon.url, "--run", "übung/2").returncode == 0
    assert daemon.hellos[0]["run"] == "übung/2"
    assert daemon.requests[0][0] == "/v1/ingest?run=%C3%BCbung%2F2"


def test_it_never_sends_more_than_its_credits_ahead(digctl, tmp_path):
    trace = tmp_path / "long.jsonl"
    trace.write_text(
        '{"type":"hello","protocol":1,"run":"r"}\n'
        + "".join('{"type":"time","seq":%d,"ts":%d}\n' % (i, i) for i in range(1, 41))
    )
    with ScriptedDaemon(credits=4, ack_every=4) as daemon:
        assert digctl("send", trace, "--to", daemon.url).returncode == 0
    assert len(daemon.received) == 40
    assert daemon.max_unacked <= 4


def test_it_reconnects_and_sends_no_message_twice(digctl, trace):
    with ScriptedDaemon(drop_after={1: 3, 2: 5}, ack_every=100) as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl")
    assert got.returncode == 0, got.stderr
    assert [m["seq"] for _, m in daemon.received] == [1, 2, 3, 4, 5, 6]
    assert [f["seq"] for f in lines(got.stdout)] == [1, 3, 5]
    assert "2 reconnects" in got.stderr and "reconnecting" in got.stderr


def test_it_resends_messages_that_a_killed_daemon_lost(digctl, trace):
    with ScriptedDaemon(drop_after={1: 5}, restart=True, ack_every=100) as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl")
    assert got.returncode == 0, got.stderr
    assert [m["seq"] for _, m in daemon.received] == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6]
    assert [f["seq"] for f in lines(got.stdout)] == [1, 3, 5]


def test_an_answer_lost_with_a_connection_is_counted(digctl, trace):
    with ScriptedDaemon(drop_after={1: 3}, durable=True) as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl")
    assert got.returncode == 0, got.stderr
    assert [f["seq"] for f in lines(got.stdout)] == [1, 5]
    assert "1 answer was lost" in got.stderr


def test_it_gives_up_after_repeated_connection_losses(digctl, trace):
    with ScriptedDaemon(drop_after={n: 1 for n in range(1, 40)}, restart=True) as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl", timeout=60)
    assert got.returncode == 2
    assert "lost repeatedly" in got.stderr


def test_it_resumes_after_the_daemons_last_message(digctl, trace):
    with ScriptedDaemon(known=4) as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl")
    assert got.returncode == 0
    assert [m["seq"] for _, m in daemon.received] == [5, 6]
    assert "first 4 messages" in got.stderr and "--run NAME" in got.stderr


def test_each_session_has_a_connection_and_the_order_is_kept(digctl, tmp_path):
    trace = tmp_path / "two.jsonl"
    trace.write_text("""\
{"type":"hello","protocol":1,"run":"r","session":"a","clock":"trace"}
{"type":"hello","protocol":1,"run":"r","session":"b","clock":"trace"}
{"type":"event","seq":1,"session":"a","event":{"id":"e1","recipients":["x"]}}
{"type":"activation_started","seq":1,"session":"b","activation":"v1","agent":"x","inputs":["e1"]}
{"type":"time","seq":2,"session":"a"}
{"type":"activation_ended","seq":2,"session":"b","activation":"v1","outputs":[{"id":"e2","recipients":["x"]}]}
{"type":"time","seq":3,"session":"a"}
""")
    with ScriptedDaemon() as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl")
    assert got.returncode == 0, got.stderr
    assert daemon.connections == 2
    assert [(s, m["seq"]) for s, m in daemon.received] == [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3)]
    assert [f["session"] for f in lines(got.stdout)] == ["a", "b"]
    assert got.stdout.startswith('{"session":"a","type"')


def test_broken_lines_use_up_their_seq_and_are_answered(digctl, trace):
    # The daemon answers an unreadable message with an error; the sender waits for that error and continues.
    with ScriptedDaemon(
        answers={
            2: [{"type": "error", "code": "bad_message", "seq": 2, "field": "type", "message": "?", "fatal": False}]
        }
    ) as daemon:
        text = trace.read_text().replace('"type":"activation_started","seq":2', '"type":"nonsense","seq":2')
        trace.write_text(text)
        got = digctl("send", trace, "--to", daemon.url, "--format", "jsonl")
    assert got.returncode == 2 and "line 3: bad_message" in got.stderr
    assert [f["type"] for f in lines(got.stdout)] == ["verdicts", "error", "verdicts", "verdicts"]


def test_speed_scales_the_recorded_time(digctl, tmp_path):
    trace = tmp_path / "slow.jsonl"
    trace.write_text(
        '{"type":"hello","protocol":1,"run":"r"}\n'
        '{"type":"time","seq":1,"ts":1000}\n{"type":"time","seq":2,"ts":3000}\n'
    )
    with ScriptedDaemon() as daemon:
        begin = time.monotonic()
        assert digctl("send", trace, "--to", daemon.url, "--speed", "4").returncode == 0
    assert time.monotonic() - begin >= 0.5


def test_it_sends_over_a_unix_socket(digctl, trace, tmp_path):
    with ScriptedDaemon(path=str(tmp_path / "s")) as daemon:
        assert digctl("send", trace, "--to", daemon.url).returncode == 0
        assert digctl("send", trace, "--to", daemon.url, "--run", "r2").returncode == 0
    assert daemon.hellos[1]["run"] == "r2"


def test_the_token_is_sent_to_the_daemon(digctl, trace, tmp_path):
    (tmp_path / "token").write_text("secret\n")
    with ScriptedDaemon() as daemon:
        assert digctl("send", trace, "--to", daemon.url, "--token-file", tmp_path / "token").returncode == 0
    assert daemon.requests[0][1]["authorization"] == "Bearer secret"


def test_without_a_listening_daemon_it_explains_how_to_start_one(digctl, trace):
    got = digctl("send", trace, "--to", f"ws://127.0.0.1:{unused_port()}")
    assert got.returncode == 2
    assert "nobody listens" in got.stderr and "start the daemon" in got.stderr


def test_a_refused_hello_stops_it_with_the_daemons_message(digctl, trace):
    refusal = {"type": "error", "code": "hello_conflict", "message": "the run's mode is observe", "fatal": True}
    with ScriptedDaemon(refuse=refusal) as daemon:
        got = digctl("send", trace, "--to", daemon.url)
    assert got.returncode == 2
    assert "the run's mode is observe" in got.stderr and "--run NAME" in got.stderr
    assert daemon.connections == 1


def test_a_silent_daemon_times_out(digctl, trace):
    with ScriptedDaemon(deaf=True) as daemon:
        got = digctl("send", trace, "--to", daemon.url, "--timeout", "0.3")
    assert got.returncode == 2
    assert "no answer for 0.3 s" in got.stderr


def test_wrong_usage_is_refused(digctl, trace, tmp_path):
    for args in (
        ["nowhere"],
        [trace, "--to", "ftp://x"],
        [tmp_path],
        [trace, "--speed", "0"],
        [trace, "--format", "xml"],
        [],
    ):
        got = digctl("send", *args)
        assert got.returncode == 2 and got.stderr, args
    (tmp_path / "empty").write_text("\n")
    assert "empty" in digctl("send", tmp_path / "empty", "--to", f"ws://127.0.0.1:{unused_port()}").stderr
    (tmp_path / "bad").write_text('{"type":"time","seq":1}\n')
    assert "hello" in digctl("send", tmp_path / "bad", "--to", f"ws://127.0.0.1:{unused_port()}").stderr
