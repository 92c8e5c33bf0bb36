"""Reads and groups the results of digd-bench-healing. A group is one arm in one cell at one chance to follow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Run = dict[str, Any]
Cell = tuple[int, int]  # agents, integers
USUAL = 0.75            # chance to follow a text, bench/healing/parameters.h
RULES = ("early_termination", "orphaned_event", "excessive_rerouting", "cross_lineage_aggregation",
         "repeated_subproblem", "deadlock", "missing_termination")
CODES = dict(zip(RULES, ("ET", "OE", "ER", "CLA", "RSP", "DL", "MC")))
MAIN = ("plain", "enforce", "blind", "random", "judge")
CASE_STUDY: Cell = (20, 100_000)


class Results:
    """All runs of a study. Each group is sorted by seed, so the groups of a cell are paired."""

    def __init__(self, path: Path) -> None:
        self.groups: dict[tuple[Cell, str, float], list[Run]] = {}
        with path.open() as lines:
            for line in lines:
                run = json.loads(line)
                key = ((run["agents"], run["integers"]), run["arm"], run["follow"])
                self.groups.setdefault(key, []).append(run)
        for runs in self.groups.values():
            runs.sort(key=lambda run: run["seed"])

    def cells(self, arm: str = "enforce") -> list[Cell]:
        """The cells in which this arm ran, sorted by array size."""
        found = {cell for cell, name, _ in self.groups if name == arm}
        return sorted(found, key=lambda cell: (cell[1], cell[0]))

    def runs(self, cell: Cell, arm: str, follow: float = USUAL) -> list[Run]:
        return self.groups[(cell, arm, follow)]

    def column(self, cell: Cell, arm: str, value_of: Callable[[Run], Any], follow: float = USUAL) -> list[Any]:
        return [value_of(run) for run in self.runs(cell, arm, follow)]

    def seeds(self) -> tuple[int, int]:
        all_seeds = [run["seed"] for runs in self.groups.values() for run in runs]
        return min(all_seeds), max(all_seeds)

    def count(self) -> int:
        return sum(len(runs) for runs in self.groups.values())


def valid(run: Run) -> bool:
    return bool(run["valid"])


def answered(run: Run) -> bool:
    return bool(run["answered"])


def rmse_share(run: Run) -> float:
    """RMSE in per cent of the array's size. A run without an answer counts as an empty table."""
    return 100 * run["rmse"] / run["integers"]


def seconds(run: Run) -> float:
    return run["time_ms"] / 1000


def mean(numbers: Iterable[float]) -> float:
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else float("nan")


def rate(runs: Iterable[bool]) -> float:
    return 100 * mean(float(r) for r in runs)
