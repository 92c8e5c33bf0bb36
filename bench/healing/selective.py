"""The tables of the second round: early termination that skips repeated work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from intervals import bootstrap_difference
from results import Cell, Results, answered, mean, rate, seconds, valid
from tables import ONLY_ET, Comparison, amount, markdown, named, points, size

SELECTIVE_ET = f"{ONLY_ET}, selective"
SELECTIVE = "enforce, selective"
BESIDE = "blind and all but early_termination"
TITLES = {
    "plain": "plain",
    ONLY_ET: "ET alone",
    SELECTIVE_ET: "ET alone, selective",
    "blind": "blind",
    BESIDE: "blind and all but ET",
    "enforce": "enforce",
    SELECTIVE: "enforce, selective",
}
PAIRS = (
    (SELECTIVE_ET, "blind"),
    (SELECTIVE_ET, ONLY_ET),
    (SELECTIVE, "enforce"),
    ("enforce", BESIDE),
)


def facts(r: Results) -> str:
    first, last = r.seeds()
    return f"{size(r.count())} runs, seeds {first} to {last} in every cell and arm."


def comparisons(r: Results) -> str:
    """The four primary comparisons of the plan, each with its weakest cell."""
    rows = []
    for first, second in PAIRS:
        c = Comparison(r, first, second, r.cells())
        weakest = c.weakest_first[0]
        rows.append(
            [
                f"{TITLES[first]} − {TITLES[second]}",
                str(len(c.p)),
                str(len(c.worse())),
                str(len(c.better())),
                f"{weakest[0]} × {size(weakest[1])}",
                points(c.difference[weakest]),
            ]
        )
    head = ["comparison", "cells", "significantly worse", "significantly better", "weakest cell", "difference there"]
    return markdown(head, rows)


def valid_answers(r: Results) -> str:
    """Valid answers of each arm, and the four comparisons cell by cell."""
    compared = [Comparison(r, first, second, r.cells()) for first, second in PAIRS]
    rows = []
    for cell in compared[0].weakest_first:
        row = named(cell) + [f"{rate(r.column(cell, arm, valid)):.1f}" for arm in TITLES]
        for c in compared:
            row += c.row(cell)
        rows.append(row)
    head = ["integers", "agents", *TITLES.values()]
    for first, second in PAIRS:
        head += [f"{TITLES[first]} − {TITLES[second]}", "p"]
    return markdown(head, rows)


def flagged(r: Results, cell: Cell, arm: str, lacking: bool) -> str:
    runs = [run for run in r.runs(cell, arm) if answered(run) and (run["missing"] > 0) == lacking]
    return f"{rate(run['detections']['early_termination'] > 0 for run in runs):.0f}" if runs else "–"


def flags(r: Results) -> str:
    """The answers that early termination flags in observe, without and with the option."""
    rows = []
    for cell in Comparison(r, SELECTIVE_ET, "blind", r.cells()).weakest_first:
        row = named(cell)
        for lacking in (False, True):
            row += [flagged(r, cell, arm, lacking) for arm in ("observe", "observe, selective")]
        rows.append(row)
    head = ["integers", "agents", "complete answers flagged, %", "selective", "lacking answers flagged, %", "selective"]
    return markdown(head, rows)


def price(r: Results) -> str:
    """Answers, time, calls and valid answers given back, without and with the option."""
    values: list[tuple[str, Callable[[Any], float], int]] = [
        ("any answer, %", lambda run: 100.0 * answered(run), 0),
        ("time, s", seconds, 1),
        ("calls", lambda run: run["calls"], 1),
        ("valid answers given back", lambda run: run["valid_returned"], 2),
    ]
    rows = []
    for cell in Comparison(r, SELECTIVE_ET, "blind", r.cells()).weakest_first:
        for usual, selective in ((ONLY_ET, SELECTIVE_ET), ("enforce", SELECTIVE)):
            row = [*named(cell), TITLES[usual]]
            for _, value_of, digits in values:
                old, new = (r.column(cell, arm, value_of) for arm in (usual, selective))
                plain, blind = (r.column(cell, arm, value_of) for arm in ("plain", "blind"))
                row.append(" / ".join(f"{mean(numbers):.{digits}f}" for numbers in (plain, old, new, blind)))
                row.append(amount(bootstrap_difference(new, old), digits))
            rows.append(row)
    head = ["integers", "agents", "arm"]
    for title, _, _ in values:
        head += [title, "selective − usual"]
    return markdown(head, rows)
