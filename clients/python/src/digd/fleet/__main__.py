"""python -m digd.fleet: see --help."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import sys
from typing import Any

from .query import rows
from .store import Store

RUNS = """
SELECT strftime(make_timestamp(r.opened_ms * 1000), '%Y-%m-%d %H:%M:%S') AS opened, tenant, host, run,
       coalesce(ended, 'open') AS ended, messages,
       (SELECT count(*) FROM detections AS d WHERE d.archive = r.archive AND d.run_number = r.run_number) AS detections
FROM runs AS r ORDER BY opened_ms, run
"""


def _print(columns: list[str], found: list[tuple[Any, ...]], format_: str) -> None:
    if format_ == "json":
        for row in found:
            print(json.dumps(dict(zip(columns, row)), default=str))
        return
    table = [list(columns)] + [["" if value is None else str(value) for value in row] for row in found]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for line in table:
        print("  ".join(value.ljust(width) for value, width in zip(line, widths)).rstrip())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m digd.fleet", description="The past of a fleet, as Parquet files.")
    commands = parser.add_subparsers(dest="command", required=True)
    collect = commands.add_parser("collect", help="move messages from the stream into Parquet files")
    collect.add_argument("--nats", action="append", required=True, metavar="URL", help="a server; may be repeated")
    collect.add_argument("--credentials", metavar="FILE", help="a credentials file of NATS")
    collect.add_argument("--batch-rows", type=int, default=10_000, help="entries in one file, at most")
    collect.add_argument("--batch-seconds", type=float, default=2.0, help="the longest wait for a batch")
    collect.add_argument("--until-empty", action="store_true", help="stop once the stream has nothing more")
    compact = commands.add_parser("compact", help="join the small files of each partition, and drop old days")
    compact.add_argument("--keep-days", type=int, metavar="N", help="delete partitions of more than N days ago")
    runs = commands.add_parser("runs", help="list all runs")
    sql = commands.add_parser("sql", help="ask in SQL: entries, detections, interventions, outcomes, runs")
    for command in (collect, compact, runs, sql):
        command.add_argument("root", metavar="ROOT", help="the folder of the Parquet files")
    sql.add_argument("query", metavar="SQL")
    for command in (runs, sql):
        command.add_argument("--format", choices=("table", "json"), default="table")
    given = parser.parse_args(arguments)
    if given.command == "collect":
        from .collector import Options, collect as run_collector  # only collectors need NATS

        options = Options(given.nats, given.credentials, given.batch_rows, given.batch_seconds)
        options.until_empty = given.until_empty
        counts = asyncio.run(run_collector(given.root, options))
        print(counts.text())
    elif given.command == "compact":
        store = Store(given.root)
        if given.keep_days is not None:
            first = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=given.keep_days)
            print(f"{store.drop_days_before(first.isoformat())} partitions dropped")
        print(f"{store.compact()} files fewer")
    else:
        try:
            _print(*rows(given.root, RUNS if given.command == "runs" else given.query), given.format)
        except FileNotFoundError as error:
            print(f"digd.fleet: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
