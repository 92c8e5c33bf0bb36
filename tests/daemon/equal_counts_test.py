"""The API, the graph, the report, `digctl show`, `runs`, `tail`, `replay` and the dashboard count the same things in a
run, which is live, replayed or imported."""

import json
import re
import urllib.parse
import urllib.request

import pytest
from counted_runs import PLAYS, counts_of_show, counts_of_tail, digctl, tail_of
from live import Daemon
from playwright.sync_api import expect


def get(daemon, path):
    with urllib.request.urlopen(f"http://{daemon.address}{path}", timeout=60) as answer:
        return json.load(answer)


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


@pytest.mark.parametrize("play", PLAYS)
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
        tailed = counts_of_tail(tail_of(run, "--since", 0, "--jsonl", "--to", daemon.address))
        exported = daemon.folder / "exported.jsonl"
        digctl("export", run, "--to", daemon.address, "-o", exported)
        has_refused = 2 if report["run"]["refused"] else 0
        replayed = json.loads(digctl("replay", exported, "--format", "json", status=has_refused))
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
    terminal = counts_of_show(shown)
    first_row, last_row, unit = terminal.pop("rows")
    assert first_row == 0 and abs(last_row - (last_ts - first_ts)) < unit
    assert terminal == {name: seen[name] for name in terminal}
    assert tailed == {name: seen[name] for name in tailed}
    assert [(d["rule"], d["ts"], d["healed"]) for d in replayed] == in_list
    assert seen["not_observed"] == {"troubled": 7, "live": 2}.get(run, 0)
    assert seen["inferred"] == (["links", "times"] if run == "imported" else [])
    assert row["counts"] == listed["counts"] and row["ended"] == listed["ended"]

    for name in ("events", "activations", "detections", "not_observed"):
        assert page[name] == seen[name], name
    assert page["listed"] == seen["detections"]
    for shown_answer, answer in zip(page["answers"], report["verdict"], strict=True):
        assert re.sub(r"\s+", " ", answer).replace("`", "") in shown_answer
