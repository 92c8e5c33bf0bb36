"""The charts of docs/healing.md. This module describes them; `digd-bench-healing --chart` draws them as SVG."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from results import CODES, RULES, Cell, Results, valid
from intervals import paired_difference, wilson
from tables import detailed, short, size

ARMS = ("without", "control", "judge", "digd", "large team")
RATES = {"y": "valid answers, %", "across": False, "low": 0, "high": 100}

Chart = dict[str, Any]


def write(bench: Path, chart: Chart, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = subprocess.run([bench, "--chart"], input=json.dumps(chart).encode(), stdout=subprocess.PIPE, check=True)
    path.write_bytes(drawn.stdout)


def per_cent(*shares: float) -> list[float]:
    return [100 * share for share in shares]


def rate_with_interval(runs: list[bool]) -> list[float]:
    return per_cent(sum(runs) / len(runs), *wilson(sum(runs), len(runs)))


def valid_by_agents(r: Results) -> Chart:
    """One panel for each array size, and one for the case study."""
    panels = [[cell for cell in r.cells() if cell[1] == n] for n in sorted({n for _, n in r.cells()})]
    return {
        "title": "Valid answers by number of agents",
        "subtitle": "per cent of the runs, with 95 % intervals",
        "x": "agents",
        **RATES,
        "panels": [
            {"title": f"{size(cells[0][1])} integers", "categories": [str(agents) for agents, _ in cells]}
            for cells in panels
        ],
        "series": [
            {
                "name": arm,
                "panels": [[rate_with_interval(r.column(cell, arm, valid)) for cell in cells] for cells in panels],
            }
            for arm in ARMS
        ],
    }


def valid_by_chance(r: Results) -> Chart:
    """One panel for each detailed cell. Without a monitor there are no hints, so that rate is the same everywhere."""
    chances = sorted({follow for _, arm, follow in r.groups if arm == "digd"})

    def rates(cell: Cell, arm: str) -> list[list[float]]:
        if arm == "without":
            return [rate_with_interval(r.column(cell, arm, valid))[:1]] * len(chances)
        return [rate_with_interval(r.column(cell, arm, valid, follow))[:1] for follow in chances]

    return {
        "title": "Valid answers by the chance that an agent follows a hint",
        "subtitle": "per cent of the runs",
        "x": "chance that an agent follows a hint",
        **RATES,
        "panels": [{"title": short(cell), "categories": [f"{chance:g}" for chance in chances]} for cell in detailed(r)],
        "series": [{"name": arm, "panels": [rates(cell, arm) for cell in detailed(r)]} for arm in ARMS[:4]],
    }


def single_rules(r: Results) -> Chart:
    """One panel for each detailed cell, one row for each rule."""
    cells = detailed(r)
    arms: dict[str, Callable[[str], tuple[str, str]]] = {
        "the rule alone, compared with observe": lambda rule: (f"only {rule}", "observe"),
        "what it adds to the other rules": lambda rule: ("digd", f"all but {rule}"),
    }

    def difference(cell: Cell, arm: str, base: str) -> list[float]:
        return per_cent(*paired_difference(r.column(cell, arm, valid), r.column(cell, base, valid)))

    series = [
        {"name": name, "panels": [[difference(cell, *arms_of(rule)) for rule in RULES] for cell in cells]}
        for name, arms_of in arms.items()
    ]
    bounds = [x for each in series for panel in each["panels"] for point in panel for x in point]
    return {
        "title": "Rules alone and together",
        "subtitle": "difference in valid answers, with 95 % intervals",
        "x": "percentage points",
        "y": "",
        "across": True,
        "low": 5 * math.floor(min(bounds) / 5),
        "high": 5 * math.ceil(max(bounds) / 5),
        "panels": [{"title": short(cell), "categories": [CODES[rule] for rule in RULES]} for cell in cells],
        "series": series,
    }
