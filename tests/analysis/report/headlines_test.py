"""The headline of the whole report of every labelled log: right at least as often as `digctl eval` says, and nothing
below it contradicts it."""

import html
import re

import pytest
from labelled_logs import check_accuracy, digctl_output, each_log, named


def plain(text):
    """Markdown without its escapes."""
    return html.unescape(re.sub(r"\\(.)", r"\1", text))


class Report:
    """The parts of a report in Markdown."""

    def __init__(self, text):
        self.answers = {q: plain(a) for q, a in re.findall(r"^\*\*(.+\?)\*\* (.+)$", text, re.M)}
        self.facts = dict(re.findall(r"^\| (\w[\w ]*?) \| (.+) \|$", text.split("\n## ")[0], re.M))
        self.sections = {part.split("\n", 1)[0]: part for part in text.split("\n## ")[1:]}

    def table(self, section, caption):
        """The rows below a caption, as lists of cells."""
        found = re.search(rf"\*\*{caption}.*?\*\*\n\n((?:\|.+\n?)+)", self.sections[section])
        rows = found.group(1).splitlines()[2:] if found else []
        return [[plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


@pytest.fixture(scope="module")
def reports():
    """Of each log: its file, its labels and the report of the run that the importer makes of it."""

    def read(file, labels):
        trace = digctl_output("import", "whowhen", "-q", file)
        text = digctl_output("report", "-", "-q", "--format", "md", "--budget", 1, "--threads", 1, given=trace)
        return file, labels, Report(text)

    return each_log(read)


def test_a_headline_is_right_at_least_as_often_as_eval_says(reports):
    check_accuracy([(file.parent.name, labels, report.answers["Who?"]) for file, labels, report in reports])


def test_no_headline_contradicts_the_tables_below_it(reports):
    for file, _, report in reports:
        words = report.answers["Who?"]
        name = named(words)
        rows = report.table("Who", "Candidates by CHIEF")
        assert len(rows) > 1, file
        shares = [100 if row[2] == "proven" else int(row[2].removesuffix(" %")) for row in rows]
        if name is None:
            given = re.search(r"most suspect step has (\d+) % and the next (\d+) %", words)
            assert given and [int(n) for n in given.groups()] == sorted(shares, reverse=True)[:2], file
            continue
        agent, step = rows[0][:2]
        assert (agent, step) == (name[0], f"step {name[1]}"), file
        assert rows[0][3] != "none" and f"Evidence: {rows[0][3]}." in words, file
        # Another row may have a higher share. Then the headline has the agent's share, and a sentence says why.
        assert re.search(rf"[(;] ?(?:its step )?{shares[0]} %", words) or rows[0][2] == "proven", file
        is_highest = shares[0] >= max(shares[1:])
        assert is_highest == ("comes first although another step is more probable" not in report.sections["Who"]), file
        assert is_highest or "(the agent " in words, file
        acting = [row[0] for row in report.table("Who", "Agents, and what they did")]
        assert agent in acting, file


def test_a_headline_agrees_with_the_detections_below_it(reports):
    for file, _, report in reports:
        wrong = report.answers["What went wrong?"]
        listed = re.findall(r"^### \w+ \d+\. (.+?)(?: at |$)", report.sections["Why: the detections"], re.M)
        assert wrong.startswith("The run failed. "), file
        assert int(report.facts["detections"]) == len(listed), file
        # The links are guessed, and the log has no times: the headline claims neither.
        assert ("In the links that the importer inferred" in wrong) == bool(listed), file
        assert report.facts["took"] == "unknown", file
        for rule in set(listed):
            assert rule in wrong, file


def test_a_report_shows_each_result_once(reports):
    for file, _, report in reports:
        assert "Suspects, most suspect first" not in report.sections["Method"], file
        assert "it is most likely step" not in report.sections["Method"], file
