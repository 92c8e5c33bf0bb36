"""The chart of docs/healing.md. This module describes it; `digd-bench-healing --chart` draws it as SVG."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from results import MAIN, Results, valid
from intervals import wilson
from tables import size

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
            for arm in MAIN
        ],
    }
