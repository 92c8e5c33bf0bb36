"""The plots of docs/healing.md, as SVG. The same results give the same bytes."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from results import CODES, RULES, Cell, Results, valid  # noqa: E402
from intervals import paired_difference, wilson  # noqa: E402
from tables import detailed, short, size  # noqa: E402

STYLE = {
    "without": ("#8a8a8a", "s"),
    "control": ("#c77d1f", "v"),
    "judge": ("#7a5cb8", "^"),
    "digd": ("#1f6fb2", "o"),
    "large team": ("#2a8f5b", "D"),
}

plt.rcParams.update(
    {
        "svg.hashsalt": "digd",
        "svg.fonttype": "none",
        "font.size": 9,
        "font.family": "sans-serif",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "axes.axisbelow": True,
        "figure.facecolor": "white",
        "legend.frameon": False,
    }
)


def save(figure: plt.Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "bench/healing"}, bbox_inches="tight")
    plt.close(figure)


def rate_bars(axes: plt.Axes, at: list[float], r: Results, cells: list[Cell], arm: str, shift: float) -> None:
    """Rates of valid answers with their intervals."""
    colour, marker = STYLE[arm]
    rates, low, high = [], [], []
    for cell in cells:
        runs = r.column(cell, arm, valid)
        rates.append(100 * sum(runs) / len(runs))
        bounds = wilson(sum(runs), len(runs))
        low.append(rates[-1] - 100 * bounds[0])
        high.append(100 * bounds[1] - rates[-1])
    line = "none" if len(cells) == 1 else "-"
    axes.errorbar(
        [x + shift for x in at],
        rates,
        [low, high],
        color=colour,
        marker=marker,
        markersize=5,
        linewidth=1,
        linestyle=line,
        capsize=2,
        label=arm,
    )


def valid_by_agents(r: Results, path: Path) -> None:
    """One panel for each array size, and one for the case study."""
    sizes = sorted({n for _, n in r.cells()})
    figure, panels = plt.subplots(
        1, len(sizes), figsize=(9, 3.2), layout="constrained", sharey=True, width_ratios=[3] * (len(sizes) - 1) + [1]
    )
    for axes, n in zip(panels, sizes):
        cells = [cell for cell in r.cells() if cell[1] == n]
        places = list(range(len(cells)))
        for k, arm in enumerate(STYLE):
            rate_bars(axes, [float(x) for x in places], r, cells, arm, (k - 2) * 0.1)
        axes.set_xticks(places, [str(agents) for agents, _ in cells])
        axes.set_xlim(-0.5, len(cells) - 0.5)
        axes.set_title(f"{size(n)} integers", fontsize=9)
        axes.set_xlabel("agents")
    panels[0].set_ylabel("valid answers, %")
    panels[0].set_ylim(0, 102)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    save(figure, path)


def valid_by_chance(r: Results, path: Path) -> None:
    """Valid answers by the chance that an agent follows a hint."""
    cells = detailed(r)
    figure, panels = plt.subplots(1, len(cells), figsize=(9, 2.8), layout="constrained", sharey=True)
    chances = sorted({follow for _, arm, follow in r.groups if arm == "digd"})
    for axes, cell in zip(panels, cells):
        base = r.column(cell, "without", valid)
        axes.axhline(
            100 * sum(base) / len(base), color=STYLE["without"][0], linewidth=1, linestyle="--", label="without"
        )
        for arm in ("control", "judge", "digd"):
            colour, marker = STYLE[arm]
            rates = [100 * sum(runs) / len(runs) for runs in (r.column(cell, arm, valid, f) for f in chances)]
            axes.plot(chances, rates, color=colour, marker=marker, markersize=4, linewidth=1, label=arm)
        axes.set_title(short(cell), fontsize=9)
        axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    panels[0].set_ylabel("valid answers, %")
    panels[0].set_ylim(0, 102)
    panels[len(cells) // 2].set_xlabel("chance that a hint is followed")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    save(figure, path)


def single_rules(r: Results, path: Path) -> None:
    """Each rule alone against observing (filled), and what it adds to the others (open)."""
    cells = detailed(r)
    figure, panels = plt.subplots(1, len(cells), figsize=(9, 2.8), layout="constrained", sharey=True, sharex=True)
    for axes, cell in zip(panels, cells):
        axes.axvline(0, color="#555555", linewidth=0.8)
        for k, rule in enumerate(RULES):
            for arm, base, shift, fill in (
                (f"only {rule}", "observe", -0.15, "full"),
                ("digd", f"all but {rule}", 0.15, "none"),
            ):
                d, low, high = paired_difference(r.column(cell, arm, valid), r.column(cell, base, valid))
                axes.errorbar(
                    [100 * d],
                    [k + shift],
                    xerr=[[100 * (d - low)], [100 * (high - d)]],
                    color=STYLE["digd"][0],
                    marker="o",
                    markersize=4,
                    fillstyle=fill,
                    linewidth=1,
                    capsize=2,
                )
        axes.set_title(short(cell), fontsize=9)
    panels[0].set_yticks(range(len(RULES)), [CODES[rule] for rule in RULES])
    panels[0].invert_yaxis()
    panels[len(cells) // 2].set_xlabel("difference in valid answers, percentage points")
    save(figure, path)
