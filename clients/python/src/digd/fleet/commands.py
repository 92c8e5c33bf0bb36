"""The commands of `python -m digd.fleet`. `digctl --fleet` calls those below `FOR_DIGCTL`."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from . import places
from .interrupts import run_until_interrupted
from .query import rows
from .rows import RunKey
from .store import Store

RUNS = """
SELECT strftime(make_timestamp(r.opened_ms * 1000), '%Y-%m-%d %H:%M:%S') AS opened, tenant, host, run,
       coalesce(ended, 'open') AS ended, messages,
       (SELECT count(*) FROM detections AS d
        WHERE d.origin_archive = r.archive AND d.origin_run_number = r.run_number) AS detections
FROM runs AS r ORDER BY opened_ms, run
"""
WRONG_USE = 2


def _print(columns: list[str], found: list[tuple[Any, ...]], format_: str) -> None:
    if format_ == "json":
        for row in found:
            print(json.dumps(dict(zip(columns, row)), default=str))
        return
    table = [list(columns)] + [["" if value is None else str(value) for value in row] for row in found]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for line in table:
        print("  ".join(value.ljust(width) for value, width in zip(line, widths)).rstrip())


def _collect(given: argparse.Namespace) -> int:
    from .collector import Options, collect  # only collectors need NATS

    servers = [url if "://" in url else f"nats://{url}" for url in given.nats]
    fleet = places.parse(servers, given.credentials, given.ca)
    options = Options(fleet, given.batch_rows, given.batch_seconds)
    options.until_empty = given.until_empty
    options.ack_wait_seconds = given.ack_wait
    print(collect(given.root, options).text())
    return 0


def _compact(given: argparse.Namespace) -> int:
    store = Store(given.root)
    if given.keep_days is not None:
        first = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=given.keep_days)
        print(f"{store.drop_days_before(first.isoformat())} partitions dropped")
    print(f"{store.compact()} files fewer")
    return 0


def _query(given: argparse.Namespace) -> int:
    _print(*rows(given.root, RUNS if given.command == "runs" else given.query), given.format)
    return 0


def _rows(given: argparse.Namespace) -> int:
    from .selection import Wanted, lines, open_fleet, select

    db = open_fleet(places.parse(given.fleet, given.credentials, given.ca))
    runs = select(db, Wanted(given.where, given.run, given.limit, given.since_ms))
    for line in lines(db, runs):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return 0


def _tail(given: argparse.Namespace) -> int:
    from .live import follow

    run_until_interrupted(follow(places.parse(given.fleet, given.credentials, given.ca), given.run))
    return 0


def _view(given: argparse.Namespace) -> int:
    from .view import serve

    # digd passes the URLs in the environment: they may have passwords, and the list of processes shows arguments.
    urls = given.fleet or os.environ.get("DIGD_VIEW_URLS", "").splitlines()
    serve(places.parse(urls, given.credentials, given.ca), given.folder, given.first)
    return 0


def _find_run(given: argparse.Namespace) -> int:
    from .selection import open_fleet

    db = open_fleet(places.parse(given.fleet, given.credentials, given.ca))
    sql = "SELECT DISTINCT tenant, origin_archive, origin_run_number FROM entries WHERE run = ? AND run_number = ?"
    for key in db.execute(sql, [given.run, given.run_number]).fetchall():
        print(*key, sep="/")
    return 0


def _wait_deleted(given: argparse.Namespace) -> int:
    store = Store(places.parse(given.fleet, given.credentials, given.ca).need_root())
    tenant, archive, number = given.key.split("/")
    run = RunKey(tenant, archive, int(number))
    deadline = time.monotonic() + given.seconds
    while (note := store.deletion(run)) is None or note["state"] != "done":
        if time.monotonic() > deadline:
            print("digd.fleet: the collectors have not removed it yet; does one run?", file=sys.stderr)
            return 1
        time.sleep(0.2)
    print(f"digd.fleet: removed from the stream and the Parquet files at {note['when']}", file=sys.stderr)
    return 0


def _pass(given: argparse.Namespace) -> int:
    from .passes import Asked, run_pass

    fleet = places.parse(given.fleet, given.credentials, given.ca)
    return run_pass(
        Asked(
            fleet,
            given.digctl,
            given.of,
            given.option,
            where=given.where,
            run=given.run,
            on_workers=given.on_workers,
            again=given.again,
        )
    )


def _work(given: argparse.Namespace) -> int:
    from .worker import Options, work  # only workers need NATS

    fleet = places.parse(given.fleet, given.credentials, given.ca)
    fleet.need_root()
    names = ("digctl", "tasks", "tries", "task_seconds", "ack_wait", "lost_seconds", "until_empty")
    return work(fleet, Options(**{name: getattr(given, name) for name in names}))


def _add_trust(command: argparse.ArgumentParser) -> None:
    command.add_argument("--credentials", metavar="FILE", help="a credentials file of NATS")
    command.add_argument("--ca", metavar="FILE", help="a PEM file: who may sign the servers' certificates")


def _add_files(commands: Any) -> None:
    collect = commands.add_parser("collect", help="move messages from the stream into Parquet files")
    collect.add_argument("--nats", action="append", required=True, metavar="URL", help="a server; may be repeated")
    _add_trust(collect)
    collect.add_argument("--batch-rows", type=int, default=10_000, help="the maximum number of entries in a batch")
    collect.add_argument("--batch-seconds", type=float, default=2.0, help="the maximum time to gather a batch")
    collect.add_argument("--ack-wait", type=float, default=60.0, help="seconds until an unacked batch comes again")
    collect.add_argument("--until-empty", action="store_true", help="stop once the stream has nothing more")
    collect.set_defaults(run_command=_collect)
    compact = commands.add_parser("compact", help="join the small files of each partition, and drop old days")
    compact.add_argument("--keep-days", type=int, metavar="N", help="delete partitions of more than N days ago")
    compact.set_defaults(run_command=_compact)
    runs = commands.add_parser("runs", help="list all runs")
    sql = commands.add_parser("sql", help="query entries, detections, interventions, outcomes and runs")
    for command in (collect, compact, runs, sql):
        command.add_argument("root", metavar="ROOT", help="the folder of the Parquet files, or s3://BUCKET/PATH")
    sql.add_argument("query", metavar="SQL")
    for command in (runs, sql):
        command.add_argument("--format", choices=("table", "json"), default="table")
        command.set_defaults(run_command=_query)


def add_fleet(command: argparse.ArgumentParser, required: bool = True) -> None:
    text = "a folder, s3:// or nats://"
    command.add_argument("--fleet", action="append", required=required, metavar="URL", help=text)
    _add_trust(command)


def _add_for_digctl(commands: Any) -> None:
    exported = commands.add_parser("rows", help="print the rows of runs as JSON lines")
    exported.add_argument("--where", default="", metavar="SQL", help="a condition on the columns of `runs`")
    exported.add_argument("--limit", type=int, default=0, help="only the N newest runs; 0: all runs", metavar="N")
    exported.add_argument("--since-ms", type=int, default=0, help="only runs opened at this time or later")
    exported.set_defaults(run_command=_rows)
    tail = commands.add_parser("tail", help="print messages as they arrive, as JSON lines")
    tail.set_defaults(run_command=_tail)
    find = commands.add_parser("find-run", help="print TENANT/ARCHIVE/NUMBER of a run")
    find.add_argument("--run-number", type=int, required=True)
    find.set_defaults(run_command=_find_run)
    wait = commands.add_parser("wait-deleted", help="wait until collectors have removed a run")
    wait.add_argument("--seconds", type=float, default=600.0, help="the maximum time to wait")
    wait.add_argument("key", metavar="TENANT/ARCHIVE/NUMBER")
    wait.set_defaults(run_command=_wait_deleted)
    passes = commands.add_parser("pass", help="run a command over many runs, divided into tasks")
    passes.add_argument("of", choices=("attribute chief", "attribute shapley", "causal explain"))
    passes.add_argument("--option", action="append", default=[], metavar="WORD", help="an option of that command")
    passes.add_argument("--where", default="", metavar="SQL", help="a condition on the columns of `runs`")
    passes.add_argument("--on-workers", action="store_true", help="workers do the tasks")
    passes.add_argument("--again", action="store_true", help="also try tasks that failed before")
    passes.set_defaults(run_command=_pass)
    work = commands.add_parser("work", help="do tasks of passes")
    work.add_argument("--tasks", type=int, default=1, help="the number of tasks to do at the same time")
    work.add_argument("--tries", type=int, default=5, help="how often a task may be started")
    work.add_argument("--task-seconds", type=float, default=3600.0, help="the maximum time of a task")
    work.add_argument("--ack-wait", type=float, default=30.0, help="seconds until another gets a lost worker's task")
    work.add_argument("--lost-seconds", type=float, default=300.0, help="stop if no server answers for this time")
    work.add_argument("--until-empty", action="store_true", help="stop once there are no tasks")
    work.set_defaults(run_command=_work)
    for command in (passes, work):
        command.add_argument("--digctl", default="digctl", metavar="PROGRAM", help="the digctl that does the work")
    add_fleet(work)
    add_fleet(wait)
    view = commands.add_parser("view", help="answer the questions of a digd with fleet.view")
    view.add_argument("--folder", required=True, help="for temporary files")
    view.add_argument("--first", type=int, default=1, help="the first number that no row of the archive has had")
    view.set_defaults(run_command=_view)
    add_fleet(view, required=False)
    for command in (exported, tail, find, passes):
        add_fleet(command)
        command.add_argument("--run", default="", help="only this run")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m digd.fleet", description="The past of a fleet, as Parquet files.")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_files(commands)
    _add_for_digctl(commands)
    given = parser.parse_args(arguments)
    run_command: Callable[[argparse.Namespace], int] = given.run_command
    try:
        return run_command(given)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"digd.fleet: {error}", file=sys.stderr)
        return 1
    except places.WrongUse as error:
        print(f"digd.fleet: {error}", file=sys.stderr)
        return WRONG_USE
