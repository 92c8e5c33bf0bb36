"""The tables of rules in README.md and docs/rules.md name the rules of the catalog, no more and no fewer."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/daemon"))
from live import DIGCTL  # noqa: E402

CATALOG = json.loads(subprocess.check_output([DIGCTL, "rules", "--format", "json"]))
RULES = [rule for rule in CATALOG if rule["healing"] != "none"]  # the others are guards


def words(rule):
    return rule["rule"].replace("_", " ")


def first_column(page, header):
    """The first cells of the table whose header begins like this; names without hyphens, as in the catalog."""
    lines = iter((ROOT / page).read_text().splitlines())
    assert any(line.startswith(header) for line in lines), header
    assert next(lines).startswith("|---")
    cells = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells.append(line.split("|")[1].strip().replace("-", " "))
    return cells


def test_the_readme_has_a_row_for_each_rule():
    assert sorted(first_column("README.md", "| failure |")) == sorted(map(words, RULES))


def test_the_readme_says_how_many_rules_there_are():
    numbers = ["six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    (number,) = re.findall(r"digd detects (\w+) failures", (ROOT / "README.md").read_text())
    assert numbers.index(number) + 6 == len(RULES)


def test_the_page_of_the_rules_defines_each_rule_with_its_code():
    blocked = first_column("docs/rules.md", "| rule | fires on a blocked event")
    by_time = first_column("docs/rules.md", "| rule | fires if this holds for `window_ms`")
    assert {*blocked, *by_time} == {f"{words(rule)} ({rule['code']})" for rule in RULES}
    assert sorted(by_time) == sorted(
        f"{words(rule)} ({rule['code']})" for rule in RULES if rule["window_scope"] != "none"
    )
