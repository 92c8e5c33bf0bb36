"""The API, the graph, the report, `digctl show`, `digctl runs` and the dashboard count the same things in a run, which
is live, replayed or imported."""

import json
import re
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from live import DIGCTL, Daemon
from playwright.sync_api import expect

DEMO = Path(__file__).parents[1] / "traces/demo.jsonl"


def digctl(*args):
    done = subprocess.run([DIGCTL, *map(str, args)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def get(daemon, path):
    with urllib.request.urlopen(f"http://{daemon.address}{path}", timeout=60) as answer:
        return json.load(answer)


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


def duration_ms(text):
    """Of "450 ms", "65.0 s" and "1 min 5 s"."""
    units = {"ms": 1, "s": 1000, "min": 60_000}
    return sum(float(n) * units[unit] for n, unit in re.findall(r"([\d.]+) (ms|s|min)", text))


def moment(ms):
    """The time since the first message, as people read it everywhere."""
    return f"{ms} ms" if ms < 1000 else f"{int(ms / 100 + 0.5) / 10:.1f} s"


def counts_of_page(browser, daemon, run):
    """What the dashboard shows of an ended run: the numbers beside its title, and that of the list of detections."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    page.goto(f"http://{daemon.address}/#/run/{urllib.parse.quote(run, safe='')}")
    answer = page.get_by_role("region", name="Answer")
    expect(answer.get_by_text("What now?")).to_be_visible(timeout=60_000)  # the page has read the whole run
    tally = page.locator(".title .tally").inner_text()
    listed = page.get_by_role("region", name="Detections").locator("h2 .count").inner_text()
    cards = page.locator(".card").all()
    times = [(c.get_attribute("data-rule"), c.locator(".when").inner_text().split("×")[-1].strip()) for c in cards]
    end = page.locator(".transport .stamp").inner_text()
    words = [re.sub(r"\s+", " ", text) for text in answer.locator("dd").all_inner_texts()]
    page.context.close()

    def number(words):
        found = re.search(rf"([\d,]+) {words}", tally)
        return int(found.group(1).replace(",", "")) if found else 0

    return {
        "events": number("events?"),
        "activations": number("activations?"),
        "detections": number("detections?"),
        "not_observed": number("messages? lost"),
        "listed": int(listed.replace(",", "")),
        "times": times,
        "end": end,
        "answers": words,
    }


@pytest.mark.parametrize("play", [play_demo, play_troubled, play_dated, play_live, play_imported])
def test_every_view_of_a_run_has_the_same_counts_and_times(tmp_path, browser, play):
    with Daemon(tmp_path) as daemon:
        run = play(daemon)
        listed = next(r for r in get(daemon, "/v1/runs")["runs"] if r["run"] == run)
        described = get(daemon, f"/v1/runs/{run}")
        report = get(daemon, f"/v1/runs/{run}/report")
        graph = get(daemon, f"/v1/runs/{run}/graph")
        found = get(daemon, f"/v1/runs/{run}/detections?limit=500")["detections"]
        own = json.loads(digctl("report", run, "--to", daemon.address, "--budget", 0, "--format", "json"))
        shown = digctl("show", run, "--to", daemon.address, "--no-legend")
        words = digctl("report", run, "--to", daemon.address, "--budget", 0, "--format", "md")
        row = next(r for r in json.loads(digctl("runs", "--to", daemon.address, "--format", "json")) if r["run"] == run)
        page = counts_of_page(browser, daemon, run)
    assert listed["counts"] == described["counts"]
    assert report["run"] == own["run"] and report["detections"] == own["detections"]

    seen = report["run"]
    for name in ("messages", "refused", "detections", "healed"):
        assert seen[name] == listed["counts"][name], name
    assert seen["outcome"] == listed["ended"] and seen["last_ts"] == listed["last_ts"]

    announced = [e for e in graph["events"] if not e.get("placeholder")]
    assert seen["events"] == len(announced)
    assert seen["system_events"] == sum(bool(e.get("system")) for e in announced)
    assert seen["activations"] == len(graph["activations"])

    assert seen["detections"] == len(found) == len(report["detections"]) > 0
    in_list = [(d["detection"]["rule"], d["detection"]["ts"], d["detection"]["healed"]) for d in found]
    assert in_list == [(d["rule"], d["ts"], d["healed"]) for d in report["detections"]]

    # One clock: the time since the first message.
    first_ts, last_ts = seen["first_ts"], seen["last_ts"]
    moments = [(d["rule"], moment(d["ts"] - first_ts)) for d in report["detections"]]
    for i, (rule, time) in enumerate(moments, 1):
        assert f"{i}. {rule.replace('_', ' ')} at {time}" in words, (rule, time)
    assert set(page["times"]) <= set(moments) and {rule for rule, _ in page["times"]} == {rule for rule, _ in moments}
    assert page["times"][0] == moments[0]
    assert page["end"] == moment(last_ts - first_ts)
    if "times" not in seen["inferred"]:
        took = re.search(r"^\| took \| (.+) \|$", words, re.M).group(1)
        assert duration_ms(took) <= last_ts - first_ts + 50 and f"after {took}" in words
    unit = 1000 if re.search(r"^\s+s ", shown, re.M) else 1
    rows = [float(t) * unit for t in re.findall(r"^\s*([\d.]+) [├┏┗│]", shown, re.M)]
    assert rows[0] == 0 and abs(rows[-1] - (last_ts - first_ts)) < 0.01 * unit

    head = shown.splitlines()[0]
    assert f"{seen['activations']} activation" in head
    assert [int(n) for n in re.search(r"(\d+) detections?, (\d+) healed", head).groups()] == [
        seen["detections"],
        seen["healed"],
    ]
    assert int(re.search(r"(\d+) events?\b", head).group(1)) == seen["events"]
    assert seen["not_observed"] == {"troubled": 7, "live": 2}.get(run, 0)
    assert seen["inferred"] == (["links", "times"] if run == "imported" else [])
    assert row["counts"] == listed["counts"] and row["ended"] == listed["ended"]

    for name in ("events", "activations", "detections", "not_observed"):
        assert page[name] == seen[name], name
    assert page["listed"] == seen["detections"]
    for shown_answer, answer in zip(page["answers"], report["verdict"], strict=True):
        assert re.sub(r"\s+", " ", answer).replace("`", "") in shown_answer
