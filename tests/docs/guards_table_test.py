"""docs/guards.md names a live test of each guard in each framework. Each of them exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("langgraph", "openai_agents", "autogen")
TEAMS = ["fans out without end", "repeats a call", "overspends", "hangs"]


def table():
    """The rows of the table: the team, and the test of each framework."""
    page = (ROOT / "docs" / "guards.md").read_text()
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("|") and "`test_" in line]
    return {row[0].strip(): [cell.strip().strip("`") for cell in row[1:]] for row in rows}


def test_each_guard_has_a_live_test_in_each_framework():
    assert list(table()) == TEAMS
    for column, framework in enumerate(FRAMEWORKS):
        source = (ROOT / "clients" / "python" / "tests" / f"{framework}_guards_test.py").read_text()
        defined = re.findall(r"^(?:async )?def (test_\w+)", source, re.MULTILINE)
        assert {row[column] for row in table().values()} <= set(defined), framework
