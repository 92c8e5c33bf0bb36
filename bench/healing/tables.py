"""The tables of docs/healing.md, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

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
from intervals import bootstrap_difference, mcnemar, paired_difference


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def size(n: int) -> str:
    return f"{n:,}"


def named(cell: Cell) -> list[str]:
    return [size(cell[1]), str(cell[0])]


def points(difference: tuple[float, float, float]) -> str:
    """A difference of rates in percentage points, with its interval."""
    d, low, high = (100 * x for x in difference)
    return f"{d:+.1f} ({low:+.1f} … {high:+.1f})"


def amount(difference: tuple[float, float, float], digits: int = 1) -> str:
    return "{:+.{n}f} ({:+.{n}f} … {:+.{n}f})".format(*difference, n=digits)


def probability(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.2f}"


def valid_rates(r: Results) -> str:
    """Valid answers in every cell, and digd compared with no monitor and with the control."""
    rows = []
    for cell in r.cells():
        by_arm = {arm: r.column(cell, arm, valid) for arm in MAIN}
        against = [by_arm["digd"], by_arm["without"]], [by_arm["digd"], by_arm["control"]]
        rows.append(
            named(cell)
            + [f"{rate(by_arm[arm]):.1f}" for arm in MAIN]
            + [
                points(paired_difference(*against[0])),
                probability(mcnemar(*against[0])),
                points(paired_difference(*against[1])),
            ]
        )
    return markdown(
        ["integers", "agents", "without", "control", "judge", "digd", "digd − without", "p", "digd − control"], rows
    )


def large_teams(r: Results) -> str:
    """The recommended settings for large teams: valid answers, time and calls."""
    arm = "large team"
    rows = []
    for cell in r.cells(arm):
        runs = {name: r.column(cell, name, valid) for name in ("without", "digd", arm)}
        row = named(cell) + [f"{rate(runs[name]):.1f}" for name in runs]
        row += [points(paired_difference(runs[arm], runs["without"])), probability(mcnemar(runs[arm], runs["without"]))]
        row += [
            f"{mean(r.column(cell, 'digd', value_of)):.0f} → {mean(r.column(cell, arm, value_of)):.0f}"
            for value_of in (seconds, lambda run: run["calls"])
        ]
        rows.append(row)
    return markdown(
        ["integers", "agents", "without", "digd", arm, f"{arm} − without", "p", "time, s", "model calls"], rows
    )


def case_study(tuning_runs: Results) -> str:
    """The case study, arm by arm: what the agents knew and found, and which answers were delivered."""
    rows = []
    for arm in dict.fromkeys(arm for cell, arm, _ in tuning_runs.groups if cell == CASE_STUDY):
        runs = tuning_runs.runs(CASE_STUDY, arm)
        known, found = ([run[field] / 1000 for run in runs if run[field] >= 0] for field in ("known_ms", "found_ms"))
        ends = (
            (valid(run) for run in runs),
            (run["missing"] > 0 for run in runs if answered(run)),
            (run["repeated"] > 0 and run["missing"] == 0 for run in runs if answered(run)),
            (not answered(run) for run in runs),
        )
        rows.append(
            [
                arm,
                f"{100 * len(known) / len(runs):.0f} · {mean(known):.0f} s",
                f"{100 * len(found) / len(runs):.0f} · " + (f"{mean(found):.0f} s" if found else "-"),
            ]
            + [f"{100 * sum(end) / len(runs):.0f}" for end in ends]
            + [f"{mean(run['computed'] for run in runs) / CASE_STUDY[1]:.1f}"]
        )
    return markdown(
        ["arm", "all known", "valid found", "valid %", "incomplete %", "twice %", "none %", "computed"], rows
    )


def costs(r: Results) -> str:
    """Quality and cost of an answer, without and with digd."""
    rows = []
    for cell in r.cells():
        row = named(cell)
        for value_of, digits in ((rmse_share, 1), (seconds, 1), (lambda run: run["calls"], 0)):
            with_digd, without = r.column(cell, "digd", value_of), r.column(cell, "without", value_of)
            row += [
                f"{mean(without):.{digits}f} → {mean(with_digd):.{digits}f}",
                amount(bootstrap_difference(with_digd, without), digits),
            ]
        answers = [rate(r.column(cell, arm, answered)) for arm in ("without", "digd")]
        rows.append(row[:2] + [f"{answers[0]:.1f} → {answers[1]:.1f}"] + row[2:])
    return markdown(
        [
            "integers",
            "agents",
            "any answer %",
            "RMSE, % of the array",
            "difference",
            "time, s",
            "difference",
            "model calls",
            "difference",
        ],
        rows,
    )


def other_arms(r: Results) -> str:
    """The cost of control and judge in the detailed cells."""
    rows = []
    for cell in detailed(r):
        for arm in ("control", "judge", "digd"):
            rows.append(
                named(cell)
                + [arm]
                + [
                    f"{mean(r.column(cell, arm, value_of)):.1f}"
                    for value_of in (rmse_share, seconds, lambda run: run["calls"], lambda run: run["interventions"])
                ]
            )
    return markdown(
        ["integers", "agents", "arm", "RMSE, % of the array", "time, s", "model calls", "interventions"], rows
    )


def detailed(r: Results) -> list[Cell]:
    """The cells in which each rule was tried alone."""
    return r.cells("only deadlock")


def short(cell: Cell) -> str:
    """The heading of a detailed cell, for a column or a panel."""
    if cell == CASE_STUDY:
        return f"{cell[0]} × {size(cell[1])}"
    return f"{cell[0]} agent" + ("s" if cell[0] > 1 else "")


def single_rules(r: Results) -> str:
    """Each rule alone compared with observing; all rules compared with all but one."""
    cells = detailed(r)
    rows = []
    for rule in RULES:
        for arm, base, sign in (
            (f"only {rule}", "observe", "alone"),
            ("digd", f"all but {rule}", "what it adds to the others"),
        ):
            row = [CODES[rule], sign]
            for cell in cells:
                row.append(points(paired_difference(r.column(cell, arm, valid), r.column(cell, base, valid))))
            rows.append(row)
    return markdown(["rule", ""] + [short(cell) for cell in cells], rows)


def detections(r: Results) -> str:
    """How often each rule fires in a run, while digd observes and while it heals."""
    rows = []
    for cell in detailed(r):
        for arm in ("observe", "digd"):
            runs = r.runs(cell, arm)
            rows.append(
                named(cell) + [arm] + [f"{mean(run['detections'][rule] for run in runs):.2f}" for rule in RULES]
            )
    return markdown(["integers", "agents", "arm", *CODES.values()], rows)


def outcomes(r: Results) -> str:
    """The outcomes of digd's healings, over the detailed cells."""
    runs = [run for cell in detailed(r) for run in r.runs(cell, "digd")]
    rows = []
    for rule in RULES:
        seen, healed = (sum(run[field][rule] for run in runs) for field in ("detections", "healed"))
        ends = [sum(run[end][rule] for run in runs) for end in ("cleared", "recurred", "unresolved")]
        share = [f"{100 * end / max(1, sum(ends)):.0f}" for end in ends]
        rows.append([CODES[rule], size(seen), size(healed), *share])
    return markdown(["rule", "detections", "healed", "cleared %", "recurred %", "unresolved %"], rows)


def following(r: Results) -> str:
    """Valid answers by the chance that an agent follows a hint."""
    chances = sorted({follow for _, arm, follow in r.groups if arm == "digd"})
    rows = []
    for cell in detailed(r):
        rows.append(named(cell) + ["without"] + [f"{rate(r.column(cell, 'without', valid)):.1f}"] * len(chances))
        for arm in ("control", "judge", "digd"):
            rows.append(named(cell) + [arm] + [f"{rate(r.column(cell, arm, valid, follow)):.1f}" for follow in chances])
    return markdown(["integers", "agents", "arm"] + [f"{follow:g}" for follow in chances], rows)


def tuning(r: Results) -> str:
    """The variants tried on other seeds: valid answers and time."""
    arms = list(dict.fromkeys(arm for _, arm, _ in r.groups))
    rows = []
    for arm in arms:
        row = [arm]
        for cell in r.cells():
            row.append(f"{rate(r.column(cell, arm, valid)):.1f} · {mean(r.column(cell, arm, seconds)):.0f} s")
        rows.append(row)
    return markdown(["arm"] + [short(cell) for cell in r.cells()], rows)


def facts(r: Results, tuning_runs: Results) -> str:
    first, last = r.seeds()
    tuning_first, tuning_last = tuning_runs.seeds()
    return (
        f"{size(r.count())} runs, seeds {first} to {last} in every cell and arm. "
        f"The chance to follow is {USUAL:g} unless\nstated otherwise. "
        f'"Tried before" has {size(tuning_runs.count())} runs with seeds {tuning_first} to {tuning_last}.'
    )
