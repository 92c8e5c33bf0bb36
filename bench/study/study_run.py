"""Runs the study with real agents and appends one line a run to a file of results. It goes on where it was stopped.

    python bench/study/study_run.py --endpoint http://127.0.0.1:PORT/v1 --digd ws://127.0.0.1:PORT --results FILE
                              [--cell NAME] [--seeds 101-130] [--arms A,B] [--pairs N]

docs/study/plan.md says what the cells, arms and measures are. `scripts/study-real` starts the model and the daemon.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import tasks  # noqa: E402
import team_autogen  # noqa: E402
import team_langgraph  # noqa: E402
import truth  # noqa: E402
from controls import BlindGuard, Judge, Nothing, RandomTexts  # noqa: E402
from mind import Endpoint, Log  # noqa: E402

ROUND = 2  # of the plan; each line of the results names its round
ARMS = ("plain", "observe", "enforce", "blind", "random", "judge")
MAX_RUN_S = 1800


@dataclass(frozen=True)
class Cell:
    name: str
    framework: Any
    family: str
    size: int


CELLS = {
    cell.name: cell
    for cell in (
        Cell("autogen-count-3", team_autogen, "count", 3),
        Cell("autogen-lookup-6", team_autogen, "lookup", 6),
        Cell("langgraph-code-3", team_langgraph, "code", 3),
        Cell("langgraph-count-1", team_langgraph, "count", 1),
    )
}


def detections_of(url: str, name: str) -> list[dict[str, Any]]:
    """The detections of all runs of this name (run, run-1, run-2 …), from the daemon's archive."""
    base = url.replace("ws://", "http://")
    with urllib.request.urlopen(f"{base}/v1/runs?limit=100", timeout=10) as answer:  # the newest first
        runs = sorted(row["run"] for row in json.load(answer)["runs"] if row["run"].startswith(name))
    return [detection for run in runs for detection in detections_of_run(base, run)]


def detections_of_run(base: str, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        with urllib.request.urlopen(f"{base}/v1/runs/{run}/detections?limit=100{cursor}", timeout=10) as answer:
            page = json.load(answer)
        found += [item["detection"] for item in page["detections"]]
        if not page.get("next"):
            return found
        cursor = f"&cursor={page['next']}"


async def run_once(
    cell: Cell, arm: str, seed: int, client: Any, url: str, done: dict[tuple[str, int, str], Any]
) -> dict[str, Any]:
    """Runs one team in one arm and returns its line."""
    task, log, endpoint = tasks.make(cell.family, cell.size, seed), Log(), Endpoint(client)
    control: Nothing = Nothing()
    if arm == "blind":
        control = BlindGuard()
    elif arm == "random":
        pair = done[cell.name, seed, "enforce"], done[cell.name, seed, "plain"]
        control = RandomTexts(pair[0]["texts"], pair[1]["activations"], seed)
    elif arm == "judge":
        control = Judge(task, log, endpoint, seed)
    run = f"study-{cell.name}-{seed}-{arm}-{time.time_ns()}"
    monitor = (
        None
        if arm in ("plain",)
        else {
            "run": run,
            "url": url,
            "mode": "enforce" if arm == "enforce" else "observe",
            "labels": {"cell": cell.name, "seed": str(seed), "arm": arm},
        }
    )
    started = time.monotonic()
    error = None
    answer = None
    try:
        answer = await asyncio.wait_for(cell.framework.run(task, control, endpoint, log, seed, monitor), MAX_RUN_S)
    except Exception as raised:  # a team that raises is a result
        error = f"{type(raised).__name__}: {raised}"[:300]
    elapsed = time.monotonic() - started
    log.max_activations = 0
    await endpoint.idle()
    detections = [] if monitor is None else await asyncio.to_thread(detections_of, url, run)
    return {
        "round": ROUND,
        "cell": cell.name,
        "seed": seed,
        "arm": arm,
        "run": run if monitor else None,
        "valid": answer is not None and task.is_correct(answer),
        "answered": answer is not None,
        "error_of_answer": None if answer is None else task.error(answer),
        "raised": error,
        "activations": log.activations,
        "calls": endpoint.calls,
        "tokens_in": endpoint.tokens_in,
        "tokens_out": endpoint.tokens_out,
        "model_ms": endpoint.model_ms,
        "elapsed_s": round(elapsed, 1),
        "unreadable": endpoint.unreadable,
        **truth.measures(task, log, answer),
        "detections": [
            {key: d.get(key) for key in ("rule", "event", "agent", "healed", "healing", "cause")} for d in detections
        ],
    }


def read_results(path: Path, number: int = ROUND) -> dict[tuple[str, int, str], dict[str, Any]]:
    """The lines of this round."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]
    return {(line["cell"], line["seed"], line["arm"]): line for line in lines if line["round"] == number}


async def study(args: argparse.Namespace) -> None:
    import openai

    client = openai.AsyncOpenAI(base_url=args.endpoint, api_key="none", max_retries=0, timeout=MAX_RUN_S)
    first, _, last = args.seeds.partition("-")
    done = read_results(args.results)
    cells = [CELLS[args.cell]] if args.cell else list(CELLS.values())
    arms = args.arms.split(",")
    pairs = 0
    for seed in range(int(first), int(last or first) + 1):  # seed by seed: a study that stops early is balanced
        for cell in cells:
            missing = [arm for arm in arms if (cell.name, seed, arm) not in done]
            if missing and args.pairs is not None and pairs >= args.pairs:
                return
            pairs += bool(missing)
            for arm in missing:
                line = await run_once(cell, arm, seed, client, args.digd, done)
                done[cell.name, seed, arm] = line
                with args.results.open("a") as file:
                    file.write(json.dumps(line, separators=(",", ":")) + "\n")
                print(
                    f"{cell.name} seed {seed} {arm}: {'valid' if line['valid'] else 'not valid'}, "
                    f"{line['calls']} calls, {line['elapsed_s']} s, "
                    f"{', '.join(d['rule'] for d in line['detections']) or 'nothing detected'}",
                    file=sys.stderr,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--digd", required=True)
    parser.add_argument("--results", required=True, type=Path)
    parser.add_argument("--cell", choices=list(CELLS))
    parser.add_argument("--arms", default=",".join(ARMS), help="for trying tasks; the study runs all")
    parser.add_argument("--seeds", default="101-130")
    parser.add_argument("--pairs", type=int, help="stop after this many pairs that were not complete")
    asyncio.run(study(parser.parse_args()))


if __name__ == "__main__":
    main()
