"""The numbers of the README are those of the pages that it links, which commands printed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def claim(command):
    """The first cell of the README's row with that command."""
    rows = [line.split("|")[1:3] for line in README.splitlines() if line.startswith("| ") and command in line]
    assert len(rows) == 1, command
    return rows[0][0].strip()


def ratio(beginning):
    """The ratio in the row of docs/performance.md that begins like this."""
    rows = [line.split("|") for line in (ROOT / "docs/performance.md").read_text().splitlines()]
    return next(float(row[3]) for row in rows if len(row) > 4 and row[1].strip().startswith(beginning))


def test_the_kills_are_those_of_the_reliability_page():
    command = "`scripts/kill 1000 --seed 20261124`"
    page = (ROOT / "docs/reliability.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| {command} |"))
    assert "acknowledged messages lost 0" in row and "1,000 kills" in row
    kills, messages = re.match(r"([\d,]+) `kill -9` and ([\d,]+) messages", claim(command)).groups()
    assert f"{kills} kills" in row and f"{messages} messages" in row


def test_the_costs_are_within_those_of_the_performance_page():
    bound = float(re.search(r"at most ([\d.]+) times", claim("[the tail and more]"))[1])
    assert ratio("one connection, archive on: verdict's round trip, p50") <= bound
    bound = float(re.search(r"at most ([\d.]+) times", claim("`scripts/measure-growth`"))[1])
    assert ratio("graph and rules, median for each event at 10,000,000") <= bound
    performance = (ROOT / "docs/performance.md").read_text()
    memory = re.search(r"memory after the first million, an event \| ([\d.]+) B", performance)
    assert float(memory[1]) <= 1


def test_the_zoo_has_as_many_healthy_systems():
    texts = [path.read_text() for path in (ROOT / "tests/zoo").rglob("*.py")]
    texts += [path.read_text() for path in (ROOT / "clients/typescript/zoo").glob("*.ts")]
    found = sum(len(re.findall(r"^\s*@?healthy\(", text, re.MULTILINE)) for text in texts)
    assert found > int(re.match(r"Over (\d+) healthy systems", claim("`ZOO=all scripts/test`"))[1])


def test_the_simulated_study_agrees():
    row = next(
        line.split("|") for line in (ROOT / "docs/healing.md").read_text().splitlines() if "| enforce − plain |" in line
    )
    better, cells = re.search(r"in (\d+) of (\d+) settings", claim("`scripts/bench-healing`")).groups()
    assert [row[2].strip(), row[4].strip()] == [cells, better]


def test_the_seconds_to_a_first_verdict_are_those_of_the_install_page():
    page = (ROOT / "docs/operate-install.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| `scripts/test-[^|]+ \| ([\d.]+) \|$", page, re.MULTILINE)
    seconds = {way: float(number) for way, number in rows if "emulated" not in way}
    source = seconds.pop("source")
    low, high, built = re.search(
        r"([\d.]+) to ([\d.]+) seconds .* ([\d.]+) seconds from source", claim("`scripts/check-release package")
    ).groups()
    assert [float(low), float(high), float(built)] == [min(seconds.values()), max(seconds.values()), source]
