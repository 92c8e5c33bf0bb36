"""Runs that are live, replayed or imported, and what the terminal views count in them, for tests that compare views."""

import json
import os
import re
import subprocess
from pathlib import Path

from live import DIGCTL, TIMEOUT_S

DEMO = Path(__file__).parents[1] / "traces/demo.jsonl"


def digctl(*args, status=0, env=None):
    command = [DIGCTL, *map(str, args)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **(env or {})}
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def play_demo(daemon):
    digctl("send", DEMO, "--to", daemon.address)
    return "demo"


def play_troubled(daemon):
    """A gap, a refused message, a name nobody has announced, and detections that nobody heals."""
    with daemon.client("troubled", agents=["a", "b"], mode="observe") as c:
        c.event("task", ["a"], ts=10)
        c.event("lost", ["nobody"], ts=20)
        c.event("lost", ["a"], ts=30)
        assert c.error()["code"] == "duplicate_event"
        c.start("a1", "a", ["task", "unannounced"], ts=40)
        c.end("a1", [{"id": "part", "recipients": ["b"]}], ts=50)
        c.tell("gap", dropped=7, ts=60)
        c.event("late", ["b"], ts=70)
        c.tell("run_ended", outcome="failure", ts=80)
        c.wait_acked()
    return "troubled"


def play_dated(daemon):
    """Stamps of a wall clock: dates. The run takes 65 s."""
    start = 1_780_000_000_000
    with daemon.client("dated", agents=["a", "b"], mode="observe") as c:
        c.event("task", ["a"], ts=start)
        c.event("lost", ["nobody"], ts=start + 450)
        c.event("again", ["nobody"], ts=start + 62_250)
        c.tell("run_ended", outcome="failure", ts=start + 65_000)
        c.wait_acked()
    return "dated"


def play_live(daemon):
    """digd stamps the messages when they arrive."""
    with daemon.client("live", clock="wall", agents=["a", "b"], mode="observe") as c:
        c.event("task", ["a"])
        c.start("a1", "a", ["task"])
        c.end("a1", [{"id": "lost", "recipients": ["nobody"]}, {"id": "part", "recipients": ["b"]}])
        c.tell("gap", dropped=2)
        c.tell("run_ended", outcome="failure")
        c.wait_acked()
    return "live"


def play_imported(daemon):
    """A log without times and recipients, which ends while the program that it asked for has not run."""
    turns = [("Expert", "Planner_Expert: please count the boats."), ("Planner_Expert", "```python\nprint(12)\n```")]
    log = {
        "is_correct": False,
        "question": "How many boats?",
        "question_ID": "boats",
        "history": [{"content": text, "role": "assistant", "name": name} for name, text in turns],
    }
    file, trace = daemon.folder / "log.json", daemon.folder / "log.jsonl"
    file.write_text(json.dumps(log))
    digctl("import", "whowhen", "-q", "--run", "imported", file, "-o", trace)
    digctl("send", trace, "--to", daemon.address)
    return "imported"


PLAYS = [play_demo, play_troubled, play_dated, play_live, play_imported]


def counts_of_show(text):
    """What the first line of `digctl show` counts, and the times of its first and last row."""
    head = text.splitlines()[0]

    def number(words):
        found = re.search(rf"([\d,]+) {words}\b", head)
        return int(found.group(1).replace(",", "")) if found else 0

    unit = 1000 if re.search(r"^\s+s ", text, re.M) else 1
    rows = [float(t) * unit for t in re.findall(r"^\s*([\d.]+) [├┏┗│]", text, re.M)]
    return {
        "events": number("events?"),
        "activations": number("activations?"),
        "detections": number("detections?"),
        "healed": number("healed"),
        "rows": (rows[0], rows[-1], 0.01 * unit),
    }


def tail_of(*args, play=None, env=None):
    """All that `digctl tail` prints of a run, up to the entry of its end. `play` begins once `tail` is listening."""
    command = [DIGCTL, "tail", *map(str, args)]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
    )
    frames = []
    try:
        if play is not None:
            assert "listening" in running.stderr.readline()
            play()
        has_ended = False
        while not has_ended or not frames[-1].get("last"):
            line = running.stdout.readline()
            assert line, (frames, running.stderr.read())
            frames.append(json.loads(line))
            has_ended = has_ended or frames[-1].get("message", {}).get("type") == "run_ended"
    finally:
        running.kill()
        running.communicate(timeout=TIMEOUT_S)
    return frames


def counts_of_tail(frames):
    """What a reader of the feed can count: all events by their ids, also those that digd made."""
    messages = [f["message"] for f in frames if f["type"] == "message"]
    events = {m["event"]["id"] for m in messages if m["type"] == "event"}
    events |= {e["id"] for m in messages if m["type"] == "activation_ended" for e in m.get("outputs", [])}
    made = {f["intervention"]["id"] for f in frames if f["type"] == "intervention"}
    made = {id for id in made if id.startswith("sys:")}
    found = [f["detection"] for f in frames if f["type"] == "detection"]
    first_ts, last_ts = min(f["ts"] for f in frames), max(f["ts"] for f in frames)
    return {
        "messages": len(messages) + sum(f["type"] == "delivery" for f in frames),
        "events": len(events | made),
        "system_events": len(made),
        "activations": len({m["activation"] for m in messages if m["type"] == "activation_started"}),
        "detections": len(found),
        "healed": sum(d["healed"] for d in found),
        "not_observed": sum(m["dropped"] for m in messages if m["type"] == "gap"),
        "first_ts": first_ts,
        "last_ts": last_ts,
    }
