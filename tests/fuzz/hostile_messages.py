"""Messages and runs that no correct system sends, as inputs for the fuzz targets (make_corpus.py)."""

EDGES = [
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "-0",
    "1.0",
    "1e2",
    "0",
    "1" + "0" * 400,
]
BROKEN_UTF8 = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]


def event(seq, id="e1", recipients=("a",), **more):
    return {"type": "event", "seq": seq, "event": {"id": id, "recipients": list(recipients), **more}}


def start(seq, activation, agent, inputs=()):
    return {"type": "activation_started", "seq": seq, "activation": activation, "agent": agent, "inputs": list(inputs)}


def end(seq, activation, reactions=None, outputs=()):
    return {
        "type": "activation_ended",
        "seq": seq,
        "activation": activation,
        "reactions": reactions or {},
        "outputs": [{"id": id, "recipients": list(to)} for id, to in outputs],
    }


def hostile_frames():
    """Frames that only an attacker or a broken program sends."""
    yield "empty", b""
    yield "spaces", b" \t\r\n "
    yield "zero-byte", b'{"type":"time","seq":1}\0'
    yield "after-the-end", b'{"type":"time","seq":1} {"type":"time","seq":1}'
    yield "byte-order-mark", b'\xef\xbb\xbf{"type":"time","seq":1}'
    yield "no-object", b'["type","time"]'
    yield "duplicate-keys", b'{"type":"time","seq":1,"seq":2}'
    yield "duplicate-type", b'{"type":"time","type":"hello","seq":1}'
    yield "duplicate-in-event", b'{"type":"event","seq":1,"event":{"id":"e1","id":"e2","recipients":["a"]}}'
    yield (
        "duplicate-reaction",
        (b'{"type":"activation_ended","seq":1,"activation":"v","reactions":{"e1":"wait","e1":{"reroute":["a"]}}}'),
    )
    yield "escaped-keys", b'{"\\u0074ype":"time","se\\u0071":1,"t\\u0073":5}'
    yield (
        "deep-payload",
        (b'{"type":"event","seq":1,"event":{"id":"e1","recipients":[],"payload":' + b"[" * 990 + b"]" * 990 + b"}}"),
    )
    yield (
        "deeper-than-allowed",
        (b'{"type":"event","seq":1,"event":{"id":"e1","recipients":[],"payload":' + b"[" * 2000 + b"]" * 2000 + b"}}"),
    )
    yield "unclosed", b'{"type":"event","seq":1,"event":{"id":"e1","recipients":[' + b"[" * 3000
    yield "deep-objects", b'{"a":' * 1200 + b"1" + b"}" * 1200
    yield "lone-surrogate", b'{"type":"agent_joined","seq":1,"agent":"\\ud800"}'
    yield "surrogates-swapped", b'{"type":"agent_joined","seq":1,"agent":"\\udc00\\ud800"}'
    yield "escaped-zero", b'{"type":"agent_joined","seq":1,"agent":"\\u0000"}'
    yield "reordering-name", '{"type":"agent_joined","seq":1,"agent":"a\u202eb\u2066"}'.encode()
    yield "longest-name", b'{"type":"agent_joined","seq":1,"agent":"' + b"x" * 256 + b'"}'
    yield "too-long-name", b'{"type":"agent_joined","seq":1,"agent":"' + b"x" * 257 + b'"}'
    yield "nulls", b'{"type":"event","seq":1,"ts":null,"event":{"id":"e1","source":null,"recipients":null,"kind":null}}'
    yield "wrong-kinds", b'{"type":5,"seq":"1","event":[],"reactions":[],"outputs":{},"inputs":{}}'
    for i, number in enumerate(EDGES):
        yield f"seq-edge-{i}", f'{{"type":"time","seq":{number}}}'.encode()
        yield f"ts-edge-{i}", f'{{"type":"time","seq":1,"ts":{number}}}'.encode()
        yield (
            f"payload-number-{i}",
            (f'{{"type":"event","seq":1,"event":{{"id":"e","recipients":[],"payload":{number}}}}}'.encode()),
        )
    for i, bad in enumerate(BROKEN_UTF8):
        yield f"broken-utf8-{i}", b'{"type":"agent_joined","seq":1,"agent":"' + bad + b'"}'
        yield (
            f"broken-utf8-in-payload-{i}",
            (b'{"type":"event","seq":1,"event":{"id":"e1","recipients":[],"payload":{"' + bad + b'":0}}}'),
        )


def hostile_runs():
    """Message sequences that no correct system sends."""
    yield (
        "self-reroute",
        [
            event(1),
            start(2, "v1", "a", ["e1"]),
            end(3, "v1", {"e1": {"reroute": ["a"]}}),
            start(4, "v2", "a", ["e1"]),
            end(5, "v2", {"e1": {"reroute": ["a", "a"]}}),
        ],
    )
    agents = [f"a{i}" for i in range(12)]
    circle, seq = [event(1, "e1", [agents[0]])], 1
    for turn in range(40):
        at, to = agents[turn % 12], agents[(turn + 1) % 12]
        circle += [start(seq + 1, f"v{turn}", at, ["e1"]), end(seq + 2, f"v{turn}", {"e1": {"reroute": [to]}})]
        seq += 2
    yield "reroutes-in-a-circle", circle
    yield (
        "delivered-to-its-author",
        [
            start(1, "v1", "a"),
            end(2, "v1", None, [("e1", ["a"])]),
            start(3, "v2", "a", ["e1"]),
            end(4, "v2", {"e1": "consume"}, [("e2", ["a"])]),
        ],
    )
    yield (
        "input-of-its-own-source",
        [
            start(1, "v1", "a", ["e1"]),
            {"type": "event", "seq": 2, "event": {"id": "e1", "source": "v1", "recipients": ["a"]}},
            end(3, "v1", {"e1": "consume"}),
        ],
    )
    yield (
        "ids-again",
        [event(1), event(2), start(3, "v1", "a", ["e1"]), start(4, "v1", "a", ["e1"]), end(5, "v1"), end(6, "v1")],
    )
    yield (
        "same-id-for-all",
        [event(1, "x", ["x"]), start(2, "x", "x", ["x"]), end(3, "x", {"x": {"reroute": ["x"]}}, [("x2", ["x"])])],
    )
    yield "reserved", [event(1, "sys:1"), start(2, "sys:1", "a", ["sys:9"]), end(3, "sys:1", {"sys:9": "consume"})]
    yield "outputs-twice", [start(1, "v1", "a"), end(2, "v1", None, [("e1", ["b"]), ("e1", ["c"])])]
    yield (
        "times-to-the-edges",
        [
            {"type": "time", "seq": 1, "ts": 2**63 - 1},
            {"type": "time", "seq": 2, "ts": -(2**63)},
            event(3),
            {"type": "time", "seq": 4, "ts": 2**63 - 1},
        ],
    )
    yield (
        "time-backwards",
        [{**event(1), "ts": 1000}, {"type": "time", "seq": 2, "ts": -5}, {"type": "time", "seq": 3, "ts": 20_000}],
    )
    yield "over-every-limit", [event(i, f"e{i}", [f"a{i}-{j}" for j in range(22)]) for i in range(1, 90)]
    yield (
        "gap-in-the-middle",
        [
            event(1),
            start(2, "v1", "a", ["e1"]),
            {"type": "gap", "seq": 3, "dropped": 2**63 - 1},
            end(4, "v1", {"e1": "consume"}),
        ],
    )
    yield (
        "after-the-end",
        [
            event(1),
            {"type": "run_ended", "seq": 2, "outcome": "aborted", "metrics": {"x": 1e300}},
            event(3, "e2"),
            {"type": "run_ended", "seq": 4, "outcome": "success"},
        ],
    )
    yield (
        "answers-nobody-asked-for",
        [
            {"type": "delivery", "seq": 1, "of": "sys:77", "applied": "created"},
            {"type": "delivery", "seq": 2, "event": "e9", "of": "give:e9:1", "applied": "failed"},
        ],
    )
