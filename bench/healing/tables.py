"""The tables of docs/healing.md, as Markdown. Each table of cells begins with the weakest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from results import (
    CASE_STUDY,
    CODES,
    MAIN,
    RULES,
    USUAL,
    Cell,
    Results,
    answered,
    mean,
    rate,
    rmse_share,
    seconds,
    valid,
)
from intervals import bootstrap_difference, holm, mcnemar, paired_difference

ONLY_ET = "only early_termination"
Difference = tuple[float, float, float]


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def size(n: int) -> str:
    return f"{n:,}"


def named(cell: Cell) -> list[str]:
    return [size(cell[1]), str(cell[0])]


def points(difference: Difference) -> str:
    """A difference of rates in percentage points, with its interval."""
    d, low, high = (100 * x for x in difference)
    return f"{d:+.1f} ({low:+.1f} … {high:+.1f})"


def amount(difference: Difference, digits: int = 1) -> str:
    return "{:+.{n}f} ({:+.{n}f} … {:+.{n}f})".format(*difference, n=digits)


def probability(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.2f}"


class Comparison:
    """Valid answers of one arm compared with another, in some cells, with p values corrected by Holm's method."""

    def __init__(self, r: Results, first: str, second: str, cells: Sequence[Cell]) -> None:
        columns = {cell: (r.column(cell, first, valid), r.column(cell, second, valid)) for cell in cells}
        self.difference = {cell: paired_difference(*pair) for cell, pair in columns.items()}
        self.p = dict(zip(cells, holm([mcnemar(*columns[cell]) for cell in cells])))
        self.weakest_first = sorted(cells, key=lambda cell: self.difference[cell][0])

    def better(self) -> list[Cell]:
        return [c for c in self.weakest_first if self.p[c] < 0.05 and self.difference[c][0] > 0]

    def worse(self) -> list[Cell]:
        return [c for c in self.weakest_first if self.p[c] < 0.05 and self.difference[c][0] < 0]

    def row(self, cell: Cell) -> list[str]:
        return [points(self.difference[cell]), probability(self.p[cell])]


def detailed(r: Results) -> list[Cell]:
    """The cells in which each rule was tried alone."""
    return r.cells("only deadlock")


def short(cell: Cell) -> str:
    """The heading of a detailed cell, for a column or a panel."""
    if cell == CASE_STUDY:
        return f"{cell[0]} × {size(cell[1])}"
    return f"{cell[0]} agent" + ("s" if cell[0] > 1 else "")


def facts(r: Results) -> str:
    first, last = r.seeds()
    return (
        f"{size(r.count())} runs, seeds {first} to {last} in every cell and arm. The chance to follow a text is "
        f"{USUAL:g} unless\nstated otherwise."
    )


def primary(r: Results) -> str:
    """Valid answers of every arm and cell, and the two comparisons of the plan."""
    with_plain = Comparison(r, "enforce", "plain", r.cells())
    with_blind = Comparison(r, "enforce", "blind", r.cells())
    rows = [
        named(cell)
        + [f"{rate(r.column(cell, arm, valid)):.1f}" for arm in MAIN]
        + with_plain.row(cell)
        + with_blind.row(cell)
        for cell in with_blind.weakest_first
    ]
    return markdown(["integers", "agents", *MAIN, "enforce − plain", "p", "enforce − blind", "p"], rows)


def early_termination(r: Results) -> str:
    """Early termination beside the blind guard: alone, and with fifteen returns beside the other rules."""
    alone = Comparison(r, ONLY_ET, "blind", detailed(r))
    many = Comparison(r, "enforce, 15 returns", "blind, 15 returns", detailed(r))
    rows = [
        named(cell)
        + [f"{rate(r.column(cell, arm, valid)):.1f}" for arm in ("plain", ONLY_ET, "blind")]
        + alone.row(cell)
        + [f"{rate(r.column(cell, arm, valid)):.1f}" for arm in ("enforce, 15 returns", "blind, 15 returns")]
        + many.row(cell)
        for cell in alone.weakest_first
    ]
    head = ["integers", "agents", "plain", "ET alone", "blind", "ET alone − blind", "p"]
    return markdown([*head, "enforce, 15", "blind, 15", "difference", "p"], rows)


def against(r: Results) -> str:
    """What fell against digd: each comparison in short, and what healing broke."""
    cells = r.cells()
    rows = []
    for title, first, second, among in (
        ("early termination alone − blind guard", ONLY_ET, "blind", detailed(r)),
        ("enforce − judge", "enforce", "judge", cells),
        ("enforce − random texts", "enforce", "random", cells),
        ("enforce − blind guard", "enforce", "blind", cells),
        ("enforce − plain", "enforce", "plain", cells),
    ):
        comparison = Comparison(r, first, second, among)
        weakest = comparison.weakest_first[0]
        rows.append(
            [
                title,
                str(len(among)),
                str(len(comparison.worse())),
                str(len(comparison.better())),
                f"{weakest[0]} × {size(weakest[1])}",
                points(comparison.difference[weakest]),
            ]
        )
    head = ["comparison", "cells", "significantly worse", "significantly better", "weakest cell", "difference there"]
    pairs = [pair for cell in cells for pair in zip(r.runs(cell, "plain"), r.runs(cell, "enforce"))]
    broken = sum(valid(plain) and not valid(healed) for plain, healed in pairs)
    ok = sum(valid(plain) for plain, _ in pairs)
    returned = sum(healed["valid_returned"] for _, healed in pairs)
    return (
        f"{markdown(head, rows)}\n\n"
        f"Of {size(ok)} runs that are valid in plain, {size(broken)} are not valid in enforce. "
        f"In *enforce*, digd gave {size(returned)} valid answers back."
    )


def costs(r: Results) -> str:
    """Quality and price of an answer in plain, enforce and blind."""
    values: list[tuple[Callable[[Any], float], int]] = [
        (rmse_share, 1),
        (seconds, 0),
        (lambda run: run["calls"], 0),
        (lambda run: run["tokens"] / 1000, 0),
    ]
    rows = []
    for cell in Comparison(r, "enforce", "plain", r.cells()).weakest_first:
        row = named(cell)
        row.append(" / ".join(f"{rate(r.column(cell, arm, answered)):.0f}" for arm in ("plain", "enforce", "blind")))
        for value_of, digits in values:
            plain, healed, blind = (r.column(cell, arm, value_of) for arm in ("plain", "enforce", "blind"))
            row.append(" / ".join(f"{mean(numbers):.{digits}f}" for numbers in (plain, healed, blind)))
            row.append(amount(bootstrap_difference(healed, plain), digits))
        rows.append(row)
    head = ["integers", "agents", "any answer, %"]
    for name in ("RMSE, % of the array", "time, s", "calls", "tokens, 1000"):
        head += [name, "enforce − plain"]
    return markdown(head, rows)


def harm(r: Results) -> str:
    """What healing broke: valid pairs lost, and valid answers given back."""
    rows = []
    for cell in r.cells():
        pairs = list(zip(r.runs(cell, "plain"), r.runs(cell, "enforce"), r.runs(cell, "blind")))
        broken = [
            sum(valid(p[0]) and not valid(p[i]) for p in pairs) / max(1, sum(valid(p[0]) for p in pairs))
            for i in (1, 2)
        ]
        back = [sum(p[i]["valid_returned"] for p in pairs) / len(pairs) for i in (1, 2)]
        rows.append((broken[0], named(cell), broken, back))
    rows.sort(key=lambda row: -row[0])
    return markdown(
        ["integers", "agents", "broken by digd, %", "by blind, %", "valid answers that digd gave back, a run", "blind"],
        [
            [*cell, *(f"{100 * x:.1f}" for x in broken), *(f"{x:.2f}" for x in back)]
            for _, cell, broken, back in rows
        ],
    )


def precision(r: Results) -> str:
    """Each rule in observe against what the runs truly lacked."""
    runs = [run for cell in r.cells() for run in r.runs(cell, "observe")]
    rows = []
    for rule in RULES:
        fired = sum(run["detections"][rule] for run in runs)
        right = sum(run["right"][rule] for run in runs)
        had = sum(run["had"][rule] for run in runs)
        caught = sum(run["had"][rule] and run["right"][rule] > 0 for run in runs)
        rows.append(
            [
                CODES[rule],
                size(fired),
                f"{100 * right / fired:.0f}" if fired else "–",
                size(had),
                f"{100 * caught / had:.0f}" if had else "–",
                f"{100 * had / len(runs):.0f}",
            ]
        )
    head = ["rule", "detections", "right, %", "runs that truly had it", "of these found, %", "share of all runs, %"]
    return markdown(head, rows)


def precision_of_et(r: Results) -> str:
    """Early termination in observe, by team: how selective it is."""
    rule = "early_termination"
    rows = []
    for cell in r.cells():
        runs = [run for run in r.runs(cell, "observe") if answered(run)]
        fired = [run for run in runs if run["detections"][rule]]
        whole = [run for run in runs if run["missing"] == 0]
        lacking = [run for run in runs if run["missing"] > 0]
        flagged = [sum(run in fired for run in group) for group in (whole, lacking)]
        rows.append(
            named(cell)
            + [
                f"{100 * len(fired) / max(1, len(runs)):.0f}",
                f"{100 * flagged[1] / max(1, len(fired)):.0f}",
                f"{100 * flagged[1] / max(1, len(lacking)):.0f}",
                f"{100 * flagged[0] / max(1, len(whole)):.0f}",
            ]
        )
    rows.sort(key=lambda row: float(row[3]))
    head = ["integers", "agents", "answers flagged, %", "precision, %", "recall, %", "complete answers flagged, %"]
    return markdown(head, rows)


def texts(r: Results) -> str:
    """How many texts agents read in a run, and the share that they followed."""
    rows = []
    for cell in r.cells():
        row = named(cell)
        for arm in MAIN[1:]:
            runs = r.runs(cell, arm)
            read, followed = (sum(run[name] for run in runs) for name in ("texts_read", "texts_followed"))
            row.append(f"{read / len(runs):.1f} · {100 * followed / max(1, read):.0f} %")
        rows.append(row)
    return markdown(["integers", "agents", *MAIN[1:]], rows)


def single_rules(r: Results) -> str:
    """Each rule alone compared with observing; all rules compared with all but one."""
    cells = detailed(r)
    rows = []
    for rule in RULES:
        for arm, base, sign in (
            (f"only {rule}", "observe", "alone"),
            ("enforce", f"all but {rule}", "what it adds to the others"),
        ):
            row = [CODES[rule], sign]
            for cell in cells:
                row.append(points(paired_difference(r.column(cell, arm, valid), r.column(cell, base, valid))))
            rows.append(row)
    return markdown(["rule", ""] + [short(cell) for cell in cells], rows)


def outcomes(r: Results) -> str:
    """The outcomes of digd's healings, over the detailed cells."""
    runs = [run for cell in detailed(r) for run in r.runs(cell, "enforce")]
    rows = []
    for rule in RULES:
        seen, healed = (sum(run[field][rule] for run in runs) for field in ("detections", "healed"))
        ends = [sum(run[end][rule] for run in runs) for end in ("cleared", "recurred", "unresolved")]
        share = [f"{100 * end / max(1, sum(ends)):.0f}" for end in ends]
        rows.append([CODES[rule], size(seen), size(healed), *share])
    return markdown(["rule", "detections", "healed", "cleared %", "recurred %", "unresolved %"], rows)


def following(r: Results) -> str:
    """Valid answers by the chance that an agent follows a text."""
    chances = sorted({follow for _, arm, follow in r.groups if arm == "enforce"})
    rows = []
    for cell in detailed(r):
        rows.append(named(cell) + ["plain"] + [f"{rate(r.column(cell, 'plain', valid)):.1f}"] * len(chances))
        for arm in MAIN[1:]:
            rows.append(named(cell) + [arm] + [f"{rate(r.column(cell, arm, valid, follow)):.1f}" for follow in chances])
    return markdown(["integers", "agents", "arm"] + [f"{follow:g}" for follow in chances], rows)
