"""digctl report: a self-contained page that escapes all names, and the same content as Markdown and JSON."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "traces/demo.jsonl"
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks that all elements are closed; collects ids, references, elements and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.references, self.text = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if name == "id":
                self.ids.append(value)
            if name in ("aria-labelledby", "aria-describedby"):
                self.references += value.split()
            if name == "href":
                assert value.startswith("#"), value
                self.references.append(value[1:])
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def elements(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def report(digctl, *args, status=0):
    done = digctl("report", *args)
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.mark.parametrize("which", ["demo", "evil"])
def test_the_page_is_well_formed_and_requests_nothing(digctl, evil_trace, which):
    text = report(digctl, DEMO if which == "demo" else evil_trace, "--budget", "0")
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert set(page.references) <= set(page.ids)
    assert page.elements("html")[0]["lang"] == "en"
    for tag in ("link", "img", "iframe", "object", "base", "form", "a:external"):
        assert page.elements(tag) == []
    assert not re.search(r"(?:https?:)?//[a-z]", text.replace("arXiv", "")), "an external address"
    for table in page.elements("table"):
        assert table == {}
    assert len(page.elements("caption")) == len(page.elements("table")) >= 4
    assert all(th.get("scope") in ("col", "row") for th in page.elements("th"))
    assert len(page.elements("figure")) >= 3
    assert all(svg.get("role") == "img" for svg in page.elements("svg"))
    assert len(page.elements("title")) > len(page.elements("svg"))


def test_the_policy_allows_the_pages_own_script_and_nothing_else(digctl):
    text = report(digctl, DEMO, "--budget", "0")
    page = Page(text)
    policy = [m["content"] for m in page.elements("meta") if m.get("http-equiv") == "Content-Security-Policy"][0]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_names_are_escaped_in_every_format(digctl, evil, evil_trace):
    page = Page(report(digctl, evil_trace))
    assert len(page.elements("script")) == 1 and page.elements("img") == []
    assert "<script>alert(2)</script>" in " ".join(page.text)
    for text in (report(digctl, evil_trace), report(digctl, evil_trace, "--format", "md")):
        assert not set(text) & set("\u202e\u2066\x1b")
    markdown = report(digctl, evil_trace, "--format", "md")
    assert "<script" not in markdown and "<img" not in markdown
    assert json.loads(report(digctl, evil_trace, "--format", "json"))["run"]["id"] == "r" + evil


def test_the_report_lists_the_detections_of_the_replay(digctl):
    document = json.loads(report(digctl, DEMO, "--format", "json", "--budget", "0"))
    found = [
        json.loads(line)
        for line in digctl("replay", DEMO, "--format", "jsonl", "--output", "detections").stdout.splitlines()
    ]
    assert [(d["rule"], d["ts"], d["event"], d["reason"]) for d in document["detections"]] == [
        (d["rule"], d["ts"], d["event"], d["reason"]) for d in found
    ]
    assert document["run"]["detections"] == len(found) == 9
    assert all(d["outcome"] == "cleared" for d in document["detections"])
    assert document == json.loads(report(digctl, DEMO, "--format", "json", "--budget", "0"))


def test_a_refused_message_is_listed_with_its_quotes_as_they_are(digctl, tmp_path):
    trace = tmp_path / "trace.jsonl"
    event = {"type": "event", "event": {"id": "task", "recipients": ["a"]}}
    lines = [{"type": "hello", "protocol": 1, "run": "r", "agents": ["a"], "clock": "trace"}, event, event]
    lines += [{"type": "run_ended", "outcome": "failure"}]
    trace.write_text("".join(json.dumps({**line, "seq": i}) + "\n" for i, line in enumerate(lines)))
    page = Page(report(digctl, trace, "--budget", "0"))
    assert any('refused: duplicate_event: event "task" is known already' in text for text in page.text)


def test_a_report_without_a_budget_has_only_observations(digctl):
    document = json.loads(report(digctl, DEMO, "--format", "json", "--budget", "0"))
    assert not any(p["ran"] for p in document["passes"].values())
    text = report(digctl, DEMO, "--format", "md", "--budget", "0")
    assert text.count("Not run: ") >= 3


def test_a_trace_from_stdin_gives_the_report_of_the_file(digctl):
    from_file = report(digctl, DEMO, "--format", "md", "--budget", "0")
    piped = digctl("report", "-", "--format", "md", "--budget", "0", stdin=DEMO.read_text())
    assert piped.returncode == 0 and piped.stdout == from_file.replace(str(DEMO), "-")


@pytest.mark.parametrize("content, words", [("", "not a trace"), ("{}\n", "hello"), (None, "no such")])
def test_a_file_that_is_not_a_trace_is_refused(digctl, tmp_path, content, words):
    path = tmp_path / "trace.jsonl"
    if content is not None:
        path.write_text(content)
    done = digctl("report", path, "--to", "ws://127.0.0.1:9")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("digctl report: ")
    if content is not None:
        assert words in done.stderr


def test_a_pdf_without_a_browser_is_refused_with_the_reason(digctl, tmp_path):
    done = digctl(
        "report",
        DEMO,
        "--budget",
        "0",
        "--format",
        "pdf",
        "-o",
        tmp_path / "x.pdf",
        env={"PATH": "", "DIGD_BROWSER": ""},
    )
    assert done.returncode == 2 and "Chromium" in done.stderr
    assert not (tmp_path / "x.pdf").exists()


def test_a_browser_prints_the_pdf(digctl, tmp_path):
    done = digctl("report", DEMO, "--budget", "0", "--format", "pdf", "-o", tmp_path / "x.pdf", timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
