"""Writes the page of the study with real agents from its results: `python bench/study/study_page.py RESULTS PAGE`."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from study_run import ARMS, ROUND, read_results  # noqa: E402

spec = importlib.util.spec_from_file_location("intervals", Path(__file__).parents[1] / "healing/intervals.py")
assert spec is not None and spec.loader is not None
intervals = importlib.util.module_from_spec(spec)
spec.loader.exec_module(intervals)

PRIMARY = (("enforce", "plain"), ("enforce", "blind"))
NOT_EXCLUDED = -0.10  # harm is not excluded if the interval reaches below this
Line = dict[str, Any]
Results = dict[tuple[str, int, str], Line]


def pairs(results: Results, cell: str) -> list[dict[str, Line]]:
    """The seeds of a cell for which every arm was run."""
    seeds = sorted({seed for name, seed, _ in results if name == cell})
    complete = [{arm: results.get((cell, seed, arm)) for arm in ARMS} for seed in seeds]
    return [pair for pair in complete if all(pair.values())]  # type: ignore[misc]


def percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def points(difference: tuple[float, float, float]) -> str:
    return "{:+.0f} ({:+.0f} to {:+.0f})".format(*(100 * value for value in difference))


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def table(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])


def comparisons(by_cell: dict[str, list[dict[str, Line]]]) -> list[dict[str, Any]]:
    found = []
    for cell, complete in by_cell.items():
        for first, second in PRIMARY:
            a, b = ([bool(pair[arm]["valid"]) for pair in complete] for arm in (first, second))
            found.append(
                {
                    "cell": cell,
                    "arms": f"{first} – {second}",
                    "difference": intervals.paired_difference(a, b),
                    "p": intervals.mcnemar(a, b),
                    "pairs": len(complete),
                }
            )
    for row, p in zip(found, intervals.holm([row["p"] for row in found])):
        row["corrected"] = p
    return found


def precision_rows(lines: list[Line]) -> list[list[str]]:
    """Detections in observe against what the runs truly lacked: one count a run and rule."""
    truths = {
        "early_termination": lambda line: any(answer["lacking"] for answer in line["answers"]),
        "orphaned_event": lambda line: line["sent_to_nobody"] > 0,
        "missing_termination": lambda line: line["rested_without_answer"],
        "deadlock": lambda line: line["rested_without_answer"],
    }
    rows = []
    for rule in sorted({d["rule"] for line in lines for d in line["detections"]} | set(truths)):
        fired = [any(d["rule"] == rule for d in line["detections"]) for line in lines]
        truth = truths.get(rule)
        if truth is None:
            rows.append([rule, str(sum(fired)), "–", "no truth known", "–"])
            continue
        true = [bool(truth(line)) for line in lines]
        both = sum(f and t for f, t in zip(fired, true))
        rows.append([rule, str(sum(fired)), str(sum(true)), f"{both} of {sum(fired)}", f"{both} of {sum(true)}"])
    return rows


def given_back(line: Line) -> int:
    """How many answers digd gave back: each healed early termination is about the next answer of the run."""
    return sum(d["rule"] == "early_termination" and d["healed"] for d in line["detections"])


def correct_answers_given_back(line: Line) -> int:
    return sum(answer["correct"] for answer in line["answers"][: given_back(line)])


def against(by_cell: dict[str, list[dict[str, Line]]], compared: list[dict[str, Any]]) -> list[str]:
    """What fell against digd, worst first."""
    findings = []
    for row in sorted(compared, key=lambda row: row["difference"][0]):
        difference, low, _ = row["difference"]
        kinds = ["fewer valid answers"] * (difference < 0) + ["harm is not excluded"] * (low < NOT_EXCLUDED)
        if kinds:
            kind = ", ".join(kinds)
            findings.append(f"- `{row['cell']}`, {row['arms']}: {kind}; {points(row['difference'])} points.")
    unclear = Counter(row["arms"] for row in compared if row["difference"][1] <= 0 <= row["difference"][2])
    if unclear:
        cells = ", ".join(f"{arms} in {count} of {len(by_cell)} cells" for arms, count in unclear.items())
        findings.append(f"- No effect shown (the interval contains 0): {cells}.")
    lines = [pair for complete in by_cell.values() for pair in complete]
    valid = [pair for pair in lines if pair["plain"]["valid"]]
    lost = sum(not pair["enforce"]["valid"] for pair in valid)
    findings.append(f"- Pairs that are valid in plain: {len(valid)}. In {lost} of these pairs, enforce is not valid.")
    returned = [pair["enforce"] for pair in lines if correct_answers_given_back(pair["enforce"])]
    silent = sum(len(line["answers"]) == given_back(line) for line in returned)
    findings.append(
        f"- Runs in enforce in which digd gave a correct answer back: {len(returned)}. "
        f"In {silent} of them, the team gave no further answer."
    )
    texts = sum(pair["enforce"]["texts_with_data_lacking"] for pair in lines)
    followed = sum(pair["enforce"]["texts_followed"] for pair in lines)
    findings.append(
        f"- Texts of digd that reached an agent without all its data: {texts}. Agents followed {followed} of them."
    )
    without = sum(row["corrected"] >= 0.05 for row in compared)
    findings.append(
        f"- After Holm's correction, {without} of the {len(compared)} primary comparisons are not significant."
    )
    if not any(pair[arm]["valid"] for pair in lines for arm in pair):
        findings.insert(0, "- No arm gave a valid answer in any run. So these pairs cannot show whether digd helps.")
    return findings


def round_of(number: int, results: Results) -> list[str]:
    """The parts of the page about one round."""
    cells = sorted({cell for cell, _, _ in results})
    by_cell = {cell: complete for cell in cells if (complete := pairs(results, cell))}
    title = f"## Round {number}"
    if not by_cell:
        return [title, f"{len(results)} runs so far. There is no pair yet for which every arm was run."]
    compared = comparisons(by_cell)
    return [
        title,
        f"{len(results)} runs. Complete pairs: "
        + ", ".join(f"`{cell}` {len(complete)}" for cell, complete in by_cell.items())
        + ".\nThe plan has 30 in each cell.",
        "### What fell against digd",
        "\n".join(against(by_cell, compared)),
        "### Primary comparisons",
        "Differences of valid answers in percentage points, with Newcombe's paired 95 % interval.",
        table(
            ["cell", "arms", "pairs", "difference", "McNemar p", "corrected by Holm"],
            [
                [
                    f"`{r['cell']}`",
                    r["arms"],
                    str(r["pairs"]),
                    points(r["difference"]),
                    f"{r['p']:.3f}",
                    f"{r['corrected']:.3f}",
                ]
                for r in compared
            ],
        ),
        "### Arms",
        "Means over the runs of each arm. *valid*: the answer is correct. *answered*: the team gave an answer.\n"
        "*calls*: calls of the model. *model s*: seconds of the model.\n"
        "*texts*: texts of digd or of the arm that agents read.",
        table(
            ["cell", "arm", "valid", "answered", "calls", "tokens in", "tokens out", "model s", "texts"],
            [
                [
                    f"`{cell}`",
                    arm,
                    percent(mean([pair[arm]["valid"] for pair in complete])),
                    percent(mean([pair[arm]["answered"] for pair in complete])),
                    *(
                        f"{mean([pair[arm][key] for pair in complete]):.0f}"
                        for key in ("calls", "tokens_in", "tokens_out")
                    ),
                    f"{mean([pair[arm]['model_ms'] for pair in complete]) / 1000:.0f}",
                    f"{mean([pair[arm]['texts'] for pair in complete]):.1f}",
                ]
                for cell, complete in by_cell.items()
                for arm in ARMS
            ],
        ),
        "### Precision and recall in observe",
        "A run counts once for each rule, even if the rule fired several times.",
        table(
            ["rule", "runs in which it fired", "runs that truly had it", "precision", "recall"],
            precision_rows([pair["observe"] for complete in by_cell.values() for pair in complete]),
        ),
    ]


def page(rounds: dict[int, Results]) -> str:
    """The whole page, the newest round first."""
    parts = [
        "# Results of the study with real agents",
        "[The plan](plan.md) says what was run. `scripts/study-real --page` writes this page from `results.jsonl`.",
    ]
    for number, results in sorted(rounds.items(), reverse=True):
        parts += round_of(number, results)
    return "\n\n".join(parts) + "\n"


def main() -> None:
    path, target = map(Path, sys.argv[1:])
    rounds = {number: results for number in range(1, ROUND + 1) if (results := read_results(path, number))}
    if not rounds:
        raise SystemExit(f"{path} has no runs.")
    target.write_text(page(rounds))


if __name__ == "__main__":
    main()
