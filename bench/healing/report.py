"""Rewrites the figures of docs/healing.md: each table between its marks, and the chart.

python bench/healing/report.py build/bench-healing/study.jsonl build/bench-healing/second-round.jsonl [--docs docs]
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import charts
import fit
import selective
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
    parser = argparse.ArgumentParser(description="Tables and chart of docs/healing.md from the results of the bench.")
    parser.add_argument("study", type=Path)
    parser.add_argument("second_round", type=Path)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of healing.md and images/")
    parser.add_argument("--bench", type=Path, default=BENCH, help="digd-bench-healing, which draws the chart")
    arguments = parser.parse_args()
    study = Results(arguments.study)
    second = Results(arguments.second_round)
    page = (arguments.docs / "healing.md").read_text()
    for name, content in (
        ("facts", tables.facts(study)),
        ("against", tables.against(study)),
        ("primary", tables.primary(study)),
        ("early termination", tables.early_termination(study)),
        ("precision of ET", tables.precision_of_et(study)),
        ("precision", tables.precision(study)),
        ("costs", tables.costs(study)),
        ("harm", tables.harm(study)),
        ("texts", tables.texts(study)),
        ("rules", tables.single_rules(study)),
        ("outcomes", tables.outcomes(study)),
        ("following", tables.following(study)),
        ("second round", selective.facts(second)),
        ("selective against", selective.comparisons(second)),
        ("selective valid", selective.valid_answers(second)),
        ("selective flags", selective.flags(second)),
        ("selective price", selective.price(second)),
        ("fit", fit.table()),
    ):
        page = fill(page, name, content)
    (arguments.docs / "healing.md").write_text(page)
    charts.write(arguments.bench, charts.valid_by_agents(study), arguments.docs / "images/healing-valid.svg")


if __name__ == "__main__":
    main()
