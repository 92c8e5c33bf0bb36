"""Rewrites the figures of docs/healing.md: each table between its marks, and the charts.

python bench/healing/report.py build/bench-healing/study.jsonl build/bench-healing/tuning.jsonl [--docs docs]
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import charts
import tables
from results import Results

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "build/release/bin/digd-bench-healing"


def fill(page: str, name: str, content: str) -> str:
    """The page with `content` between `<!-- NAME -->` and `<!-- end -->`."""
    mark = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    page, found = mark.subn(lambda m: m[1] + content + "\n" + m[2], page)
    if found != 1:
        raise SystemExit(f"docs/healing.md: expected one mark <!-- {name} -->, found {found}")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description="Tables and charts of docs/healing.md from the results of the bench.")
    parser.add_argument("study", type=Path)
    parser.add_argument("tuning", type=Path)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of healing.md and images/")
    parser.add_argument("--bench", type=Path, default=BENCH, help="digd-bench-healing, which draws the charts")
    arguments = parser.parse_args()
    study, tuning = Results(arguments.study), Results(arguments.tuning)
    page = (arguments.docs / "healing.md").read_text()
    for name, content in (
        ("facts", tables.facts(study, tuning)),
        ("valid", tables.valid_rates(study)),
        ("costs", tables.costs(study)),
        ("large", tables.large_teams(study)),
        ("arms", tables.other_arms(study)),
        ("rules", tables.single_rules(study)),
        ("detections", tables.detections(study)),
        ("outcomes", tables.outcomes(study)),
        ("following", tables.following(study)),
        ("tuning", tables.tuning(tuning)),
        ("case", tables.case_study(tuning)),
    ):
        page = fill(page, name, content)
    (arguments.docs / "healing.md").write_text(page)
    for name, chart in (
        ("healing-valid", charts.valid_by_agents(study)),
        ("healing-following", charts.valid_by_chance(study)),
        ("healing-rules", charts.single_rules(study)),
    ):
        charts.write(arguments.bench, chart, arguments.docs / f"images/{name}.svg")


if __name__ == "__main__":
    main()
