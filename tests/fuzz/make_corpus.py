#!/usr/bin/env python3
"""Writes the seed inputs of the fuzz targets into tests/fuzz/corpus, one small file for each case.

    tests/fuzz/make_corpus.py

It writes the same files every time. An input that a fuzzer found, and that broke something, is kept next to them as
`found-…`; this script does not write it. The traces of tests/traces and the importers' sample logs are inputs too
(CMakeLists.txt). tests/engine/hostile_test.cpp covers inputs that are too large for a file.
"""

import gzip
import json
import pathlib
import random

from hostile_messages import EDGES, end, event, hostile_frames, hostile_runs, start
from http_seeds import http_requests, http_targets
from otlp_spans import otlp_protobuf, otlp_span

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
HELLO = '{"type":"hello","protocol":1,"run":"r","clock":"trace"}'
WALL = '{"type":"hello","protocol":1,"run":"r","clock":"wall"}'


def put(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def lines(*messages):
    return "\n".join(message if isinstance(message, str) else json.dumps(message) for message in messages) + "\n"


def messages_and_runs():
    for name, frame in hostile_frames():
        put("message", name, frame)
    known = {
        "event": event(1),
        "start": start(1, "v1", "a", ["e1"]),
        "end": end(1, "v1", {"e1": "consume", "e2": {"reroute": ["a", "b"]}}, [("e3", ["b"])]),
        "joined": {"type": "agent_joined", "seq": 1, "agent": "a"},
        "left": {"type": "agent_left", "seq": 1, "agent": "a"},
        "delivery": {"type": "delivery", "seq": 1, "event": "e1", "of": "sys:1", "applied": "injected", "reason": "x"},
        "gap": {"type": "gap", "seq": 1, "dropped": 3},
        "time": {"type": "time", "seq": 1, "ts": 5},
        "run-ended": {"type": "run_ended", "seq": 1, "outcome": "success", "metrics": {"rmse": 0.3}},
    }
    for name, message in known.items():
        put("message", "good-" + name, json.dumps(message))
    for name, messages in hostile_runs():
        for hello, suffix in ((HELLO, ""), (WALL, "-wall")):
            put("session", name + suffix, lines(hello, *messages))
        put("trace", name, lines(HELLO, *messages))
    one_line = [frame.replace(b"\n", b" ") for name, frame in hostile_frames()]
    put("session", "hostile-frames", HELLO.encode() + b"\n" + b"\n".join(one_line))
    put("trace", "hostile-frames", HELLO.encode() + b"\n" + b"\n".join(one_line))
    put("trace", "no-hello", lines(event(1)))
    put(
        "trace",
        "operator-line",
        lines(HELLO, '{"type":"operator_mode","mode":"off","ts":99999999999999999999}', event(1)),
    )
    put("trace", "unknown-session", lines(HELLO, {**event(1), "session": "other"}))


def sessions():
    two = HELLO[:-1] + ',"session":"b","agents":["b"]}'
    put(
        "session",
        "two-sessions-that-wait",
        lines(
            HELLO,
            ">" + two,
            "1" + json.dumps(start(1, "v1", "b", ["e1"])),
            "~10",
            "0" + json.dumps(event(1)),
            "!",
            "~200",
            "1" + json.dumps(end(2, "v1", {"e1": "consume"}, [("e2", ["a"])])),
            ">" + two,
            "1" + json.dumps(start(1, "v1", "b", ["e1"])),
        ),
    )
    put(
        "session",
        "windows-by-wall-clock",
        lines(
            WALL,
            event(1),
            "~12000",
            "^1",
            "~20000",
            "^3",
            "#5000000",
            "~400000",
            {"type": "delivery", "seq": 3, "of": "sys:1", "applied": "created"},
            "!",
        ),
    )
    put(
        "session",
        "comes-back-with-less",
        lines(
            HELLO, event(1), ">" + HELLO[:-1] + ',"capabilities":{"create":false}}', event(1), event(2, "e2", ["ghost"])
        ),
    )
    put("session", "another-run-in-its-hello", lines(HELLO, ">" + HELLO.replace('"r"', '"other"'), event(1)))
    # Regressions: the archive once changed a message refused for its `ts`, and one with an escaped key.
    for policy in ("observe", "gap"):
        policies = ',"over_limit":{"message_bytes":"%s","live_events":"%s","recipients":"observe"}}' % (policy, policy)
        for clock, hello in (("wall", WALL), ("trace", HELLO)):
            small = hello[:-1] + ',"limits":{"live_events":2,"message_bytes":300}' + policies
            many = [event(n, f"e{n}") for n in range(1, 6)]
            put("session", f"over-live-events-{policy}-{clock}", lines(small, *many, "~20000", event(6, "e6"), "^1"))
            put(
                "session",
                f"too-large-{policy}-{clock}",
                lines(small, many[0], "@12000", "#900", event(3, "e3"), "~30000"),
            )
    put(
        "session",
        "over-recipients-observe",
        lines(
            HELLO[:-1] + policies,
            event(1),
            event(2, "e2", [f"a{n}" for n in range(30)]),
            end(3, "v", {"e1": "wait"}, [("o", ["a"])]),
        ),
    )
    put(
        "session",
        "memory-ran-out",
        lines(WALL, event(1), "~12000", "$", event(2), start(3, "v", "a", ["e1"]), "$", "~90000"),
    )
    put(
        "session",
        "turned-away",
        lines(
            WALL,
            event(1),
            "%",
            event(2, "e2"),
            "~20000",
            event(3, "e3"),
            "%",
            event(4, "e4"),
            '{"type":"refused","seq":5,"code":"run_closed","message":"a lie"}',
            event(6, "e6"),
            "{",
        ),
    )
    put(
        "session",
        "found-refused-for-its-ts",
        lines(HELLO, event(1), '{"type":"time","seq":2,"ts":"soon"}', {**event(3, "e3"), "ts": 7}),
    )
    put(
        "session",
        "found-escaped-ts",
        lines(WALL, event(1), '{"type":"time","t\\u0073":7,"seq":2}', '{"typ\\u0065":"time","seq":3}'),
    )
    put(
        "session",
        "found-refused-after-a-window",
        lines(WALL, event(1), "@20000", '{"type":"time","seq":2,"ts":"soon"}'),
    )
    put("session", "refused-by-the-engine-after-a-window", lines(WALL, event(1), "@20000", event(2), "@90000", "^1"))
    put("session", "broken-after-a-window", lines(WALL, event(1), "@20000", "{", "@20000", "^1", "@20000", "#99999"))


def hellos():
    put("hello", "plain", HELLO)
    put(
        "hello",
        "all",
        json.dumps(
            {
                "type": "hello",
                "protocol": 1,
                "run": "r1",
                "session": "main",
                "agents": ["planner", "coder"],
                "mode": "enforce",
                "clock": "wall",
                "rules": {
                    "deadlock": {"window_ms": 2000, "max_attempts": 3, "text": "go on"},
                    "cross_lineage_aggregation": {"mode": "shadow", "kinds": ["solution"]},
                    "early_termination": {"skip_repeated": True},
                    "excessive_rerouting": {"max_reroutes": 4},
                },
                "healing": {"budget": 1000},
                "limits": {"stalled_ms": 300000, "agents": 10, "sessions": 3},
                "capabilities": {"inject": True, "reroute": False, "create": True},
                "witness": False,
                "client": {"name": "x", "version": "0.1"},
                "labels": {"task": "t42", "\u202e": "\n"},
            }
        ),
    )
    put("hello", "stamped", '{"type":"hello","protocol":1,"run":"r","clock":"trace","stamped":true}')
    put("hello", "wrong-protocol", '{"type":"hello","protocol":2,"run":"r"}')
    put("hello", "no-run", '{"type":"hello","protocol":1}')
    put("hello", "empty-run", '{"type":"hello","protocol":1,"run":""}')
    put(
        "hello", "duplicates", '{"type":"hello","protocol":1,"run":"r","run":"s","rules":{"deadlock":{},"deadlock":{}}}'
    )
    put("hello", "duplicate-labels", '{"type":"hello","protocol":1,"run":"r","labels":{"a":"1","a":"2"}}')
    put("hello", "duplicate-agents", '{"type":"hello","protocol":1,"run":"r","agents":["a","a","b"]}')
    put("hello", "unknown-rule", '{"type":"hello","protocol":1,"run":"r","rules":{"deadlok":{"window_ms":1}}}')
    for i, number in enumerate(EDGES):
        put(
            "hello",
            f"edge-{i}",
            f'{{"type":"hello","protocol":1,"run":"r","rules":{{"deadlock":{{"window_ms":{number},'
            f'"max_attempts":{number}}}}},"healing":{{"budget":{number}}},"limits":{{"stalled_ms":{number}}}}}',
        )
        put(
            "hello",
            f"limit-edge-{i}",
            f'{{"type":"hello","protocol":1,"run":"r","limits":{{"message_bytes":{number},'
            f'"agents":{number},"live_events":{number},"reorder_ms":{number}}}}}',
        )


def logs():
    put("whowhen", "empty-history", '{"history":[],"question_ID":"q"}')
    put("whowhen", "no-history", '{"question_ID":"q"}')
    put(
        "whowhen",
        "small",
        json.dumps(
            {
                "question_ID": "q",
                "question": "x",
                "is_correct": False,
                "history": [
                    {"content": "do it", "name": "Planner", "role": "assistant"},
                    {"content": "done\nTERMINATE", "name": "Coder", "role": "user"},
                ],
            }
        ),
    )
    put(
        "whowhen",
        "odd-names",
        json.dumps(
            {
                "question_ID": "q" * 300,
                "history": [
                    {"content": "x", "role": "Orchestrator (-> " + "W" * 400 + ")"},
                    {"content": "", "role": ""},
                    {"content": "\u0000", "role": "sys:1"},
                ],
            }
        ),
    )
    put("whowhen", "wrong-kinds", '{"history":{"0":[]},"question_ID":5}')
    for name in ("deep",):
        put("whowhen", name, '{"history":' + "[" * 3000)
        put("dig_graph", name, '{"schema":"dig.graph.v2","events":' + '{"a":' * 3000)
    put("dig_graph", "empty", '{"schema":"dig.graph.v2","created_at":1.0,"events":{},"activations":{}}')
    put("dig_graph", "other-schema", '{"schema":"dig.graph.v9","events":{},"activations":{}}')

    def graph_event(id, source, to):
        return {
            "id": id,
            "source_activation_id": source,
            "payload": {},
            "recipients": {a: {"label": "pending"} for a in to},
            "delivery_policy": {"mode": "immediate"},
            "timestamps": [{"label": "generated", "at": 1.0}],
        }

    circle = {
        "schema": "dig.graph.v2",
        "created_at": 1.0,
        "events": {"e1": graph_event("e1", "v2", ["a"]), "e2": graph_event("e2", "v1", ["b"])},
        "activations": {
            "v1": {"agent_id": "a", "inputs": ["e1"], "outputs": ["e2"], "started_at": 2.0, "ended_at": 3.0},
            "v2": {"agent_id": "b", "inputs": ["e2"], "outputs": ["e1"], "started_at": 2.0, "ended_at": 3.0},
        },
    }
    put("dig_graph", "causes-in-a-circle", json.dumps(circle))
    for i, at in enumerate(("1e308", "-1e308", "9223372036854775807", "null", "1e-400")):
        put("dig_graph", f"time-edge-{i}", json.dumps(circle).replace("2.0", at).replace('"at": 1.0', f'"at": {at}'))


def otlp():
    """Spans in both encodings. tests/ingest/otlp/recorded has the exports of real frameworks."""
    cases = {
        "calls": [
            otlp_span("2", "", "a", 1, 9),
            otlp_span("6", "2", "x", 3, 4, error="no"),
            otlp_span("7", "2", "x", 5, 6),
            otlp_span("8", "2", "y", 5, 8),
        ],
        "circle": [
            otlp_span("2", "3", "a", 5, 9),
            otlp_span("3", "2", "b", 1, 7),
            otlp_span("4", "", "c", 9, 3, ["5"]),
            otlp_span("5", "", "d", 1, 2, ["4"]),
        ],
        "row": [otlp_span(str(i), "", f"a{i}", i, i + 1) for i in range(1, 9)],
    }
    for name, spans in cases.items():
        documents = [
            json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": part}]}]}) for part in (spans, spans[:1], spans[1:])
        ]
        put("otlp", name + ".json", documents[0])
        put("otlp", name + ".jsonl", "\n".join(documents[1:]))
        put("otlp", name + ".pb", otlp_protobuf(spans))
        put("otlp", name + ".gz", gzip.compress(documents[0].encode(), mtime=0))


def hooks():
    """Recorded sessions without their longest texts, and calls that no program makes."""
    recorded = CORPUS.parents[1] / "hooks" / "recorded"
    for path in sorted(recorded.glob("*.jsonl")):
        program = path.stem.split("_")[0]
        program = program if program in ("codex", "gemini", "opencode") else "claude-code"
        calls = []
        for line in path.read_text().splitlines():
            call = json.loads(line)
            for name in ("transcript_path", "agent_transcript_path", "cwd", "permission_mode", "effort"):
                call.pop(name, None)
            text = json.dumps(call)
            if len(text) < 2000:
                calls.append(text)
        put("hooks", path.stem, lines(program, *calls[:40]))
        put("hooks", path.stem + "-guards", lines(program + "!", *calls[:40]))
    for program, (prompt, tool, stop) in {
        "claude-code": ("UserPromptSubmit", "PreToolUse", "Stop"),
        "codex": ("UserPromptSubmit", "PreToolUse", "Stop"),
        "gemini": ("BeforeAgent", "BeforeTool", "AfterAgent"),
        "opencode": ("chat.message", "tool.execute.before", "session.idle"),
    }.items():
        head = {"session_id": "s", "prompt_id": "p", "turn_id": "p", "prompt": "go", "text": "go"}
        names = [prompt, tool, tool.replace("Before", "After"), "SubagentStart", "SubagentStop", stop, "SomethingNew"]
        odd = [{}, {"tool_input": 7}, {"agent_id": "a", "tool_name": []}, {"digd": {"usage": {"input_tokens": -1}}}]
        calls = [{**head, "hook_event_name": name, **more} for name in names for more in odd]
        put("hooks", program + "-odd", lines(program, *calls, "{", "[]", "{}", '{"hook_event_name":5}'))
    spawn = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": "t"}
    starts = {"session_id": "s", "hook_event_name": "SubagentStart", "agent_id": "main", "agent_type": "sys:1"}
    names = [{**spawn, "tool_input": {"name": name}} for name in ("main", "sys:1", "\u202e", "\x00", "a#1", "")]
    put("hooks", "odd-names", lines("claude-code", *names, starts, {**starts, "agent_id": "\x00"}))
    notice = {"type": "agent-turn-complete", "thread-id": "th", "turn-id": "t", "input-messages": ["a", 7]}
    put("hooks", "notify", lines("codex", notice, notice, {"type": "x"}, {**notice, "turn-id": []}))


def configs():
    put("config", "empty", "")
    put("config", "unknown", "[rules.deadlok]\nwindow_ms = 1\n")
    put("config", "wrong-kinds", 'threads = "two"\nlisten = 5\nhosts = {}\n[limits]\nagents = [1]\n')
    put("config", "duplicates", "threads = 1\nthreads = 2\n")
    put("config", "broken-utf8", b'listen = "\xff"\n')
    put("config", "deep", "hosts = " + "[" * 400)
    put("config", "text", '[rules.deadlock]\ntext = """a \\u202e \\" b\nc"""\n')
    put("config", "unix", 'listen = "unix:/run/digd/digd.sock"\n')
    for i, number in enumerate(EDGES):
        put("config", f"edge-{i}", f"threads = {number}\ncredits = {number}\n[limits]\nagents = {number}\n")


def http():
    for seed in (*http_targets(), *http_requests()):
        put(*seed)


def entries():
    detection = '{"rule":"deadlock","severity":"failure","reason":"\\u202e"}'
    names = ["r1", '"\\\x07\u202e', ""]
    frames = [
        json.dumps(event(1, payload={"payload": [{"payload": 1}]})),
        '{"type":"time","seq":1}',
        '{"type":"delivery","seq":1,"event":"e1","applied":"as_is","reason":"x"}',
        "{}",
        '{"type":"limit","limit":"overload","policy":"observe","ts":5}',
        '{"type":"limit","limit":"agents","policy":"gap"',
    ]
    for i, name in enumerate(names):
        for j, frame in enumerate(frames):
            put("feed_frames", f"{i}-{j}", "\n".join([name, "main", frame, 'e1", "e2', detection]) + "\n")
    put("feed_frames", "broken-utf8", b"\xff\n\xc0\x80\n" + frames[0].encode() + b"\n\xed\xa0\x80\n{}\n")


def websocket_frames():
    def frame(first, payload, mask=b"\x01\x02\x03\x04"):
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else bytes([0xFE]) + size.to_bytes(2, "big")
        return bytes([first]) + length + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))

    text = frame(0x81, b'{"type":"time","seq":1}')
    for name, data in {
        "text": text,
        "two": text + text,
        "fragments": frame(0x01, b"tw") + frame(0x89, b"ping") + frame(0x80, "o é".encode()),
        "binary": frame(0x82, b"\x00\xff"),
        "close": frame(0x88, b"\x03\xe8bye"),
        "bare-close": frame(0x88, b""),
        "pong": frame(0x8A, b""),
        "large": frame(0x81, b"x" * 500),
        "cut": text[:9],
        "unmasked": b"\x81\x01x",
        "reserved": frame(0xC1, b"x"),
        "endless": b"\x81\xff" + b"\xff" * 8 + b"mask",
        "half-character": frame(0x81, b"caf\xc3"),
        "control-in-parts": frame(0x09, b"x"),
        "long-control": frame(0x89, b"x" * 126),
        "lone": frame(0x80, b"x"),
    }.items():
        for limit in (5, 200):
            put("websocket_frames", f"{name}-{limit}", bytes([limit]) + data)


def damage():
    dice = random.Random(1)
    put("archive_file", "none", b"\xff\xff\x03")
    put("archive_file", "empty-file", b"\x00\x00\x01")
    for kept in (1, 40, 128, 200, 254):
        for kind in (0, 1, 3):
            put("archive_file", f"cut-{kept}-{kind}", bytes([kept, 0, kind]))
    for i in range(24):
        places = b"".join(
            bytes([0, dice.randrange(256), dice.randrange(256), dice.randrange(256)])
            for _ in range(dice.choice([1, 4, 60]))
        )
        put("archive_file", f"damage-{i}", b"\xff\xff" + bytes([i % 4]) + places)
    for i, at in enumerate((16, 18, 20, 24, 28, 36, 52, 56, 60, 68, 100, 101, 103, 105)):  # offsets in SQLite's header
        put("archive_file", f"header-{i}", b"\xff\xff" + bytes([i % 4]) + bytes([0, 0, at, 255]))


def agreement():
    dice = random.Random(2)
    for i in range(60):
        put("agreement", f"dice-{i}", bytes(dice.randrange(256) for _ in range(dice.choice([40, 200, 700]))))


if __name__ == "__main__":
    for write in (
        messages_and_runs,
        sessions,
        hellos,
        logs,
        otlp,
        hooks,
        configs,
        http,
        websocket_frames,
        entries,
        damage,
        agreement,
    ):
        write()
    print(f"{sum(1 for path in CORPUS.rglob('*') if path.is_file())} inputs in {CORPUS}")
