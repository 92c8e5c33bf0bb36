"""The ten questions of docs/fleet.md in ClickHouse give the answers that they give in DuckDB."""

import json
import re
from pathlib import Path

import pytest
from chdb.session import Session
from digd.fleet.query import rows
from digd.fleet.rows import ORIGIN, decode
from digd.fleet.store import Store

PAGE = (Path(__file__).parents[2] / "docs/fleet.md").read_text()


def fenced(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def entry(number, run, kind, type, frame, code=None, host="h1", of=None, **beside):
    body = {"format": 1, "entry": number, "run": of or f"r{run}", "run_number": run, "n": number, "kind": kind}
    body |= {"session": "main", "seq": number, "ts": number, "arrived_ms": 1_700_000_000_000 + number, "type": type}
    body |= {"code": code, "verdicts": None, "frame": json.dumps(frame)}
    body |= {table: beside.get(table, []) for table in ("detections", "interventions", "outcomes")}
    body |= {name: beside[name] for name in ORIGIN if name in beside}
    return decode(f"digd.archive.t1.{host}", f"{host}:{number}", json.dumps(body).encode())


def detection(id, rule, subject, healed):
    return {"id": id, "rule": rule, "severity": "failure", "ts": 1, "subject": subject, "healed": healed}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    outcome = {"rule": "deadlock", "detected_ts": 1, "ts": 2, "outcome": "cleared"}
    batch = []
    runs = [("success", "x"), ("failure", "x"), ("failure", "y"), (None, "z"), (None, "z")]
    for run, (ended, team) in enumerate(runs, 1):
        first = run * 10
        batch.append(entry(first, run, "run_opened", "hello", {"labels": {"team": team}}))
        found = [detection(run, "deadlock", "a", run == 2)] if run in (2, 3) else []
        used = {"usage": {"cost": run / 4}}
        healed = [outcome] if run == 2 else []
        batch.append(entry(first + 1, run, "message", "event", used, detections=found, outcomes=healed))
        batch.append(entry(first + 2, run, "refused", "event", {}, code="bad_seq"))
        if ended:
            batch.append(entry(first + 3, run, "message", "run_ended", {"outcome": ended}))
    batch += [entry(1, 1, "run_opened", "hello", {}, host="h2"), entry(2, 1, "message", "time", {}, host="h2")]
    batch.append(entry(3, 1, "message", "event", {}, host="h2", interventions=[]))
    Store(folder).write(batch)
    created = {"id": "sys:1", "action": "create", "event": None, "ts": 1, "intervention": "{}"}
    Store(folder).write([entry(4, 1, "message", "run_ended", {}, host="h2", interventions=[created])])
    # h2 was the second home of run 4 of h1.
    origin = {"epoch": 2, "origin_archive": "h1", "origin_run_number": 4}
    found = [detection(1, "deadlock", "b", False)]
    moved = [entry(5, 2, "message", "event", {"usage": {"cost": 2.0}}, host="h2", of="r4", detections=found, **origin)]
    moved.append(entry(6, 2, "message", "run_ended", {"outcome": "success"}, host="h2", of="r4", **origin))
    Store(folder).write(moved)
    return folder


def plain(value):
    """The two engines write numbers, days and missing values differently."""
    if value is None or value == "\\N":
        return None
    if isinstance(value, bool) or value in ("true", "false"):
        return float(value in (True, "true"))
    try:
        return round(float(value), 9)
    except ValueError:
        return str(value)
    except TypeError:
        return str(value)


def test_clickhouse_answers_as_duckdb(lake):
    session = Session()
    for statement in fenced("clickhouse")[0].replace("/var/lib/fleet", str(lake)).split(";"):
        if statement.strip():
            session.query(statement)
    questions = fenced("clickhouse")[1:]
    assert len(questions) == len(fenced("sql")) == 10
    for question, for_duckdb in zip(questions, fenced("sql")):
        answer = [json.loads(line) for line in str(session.query(question, "JSONCompactEachRow")).splitlines()]
        got = sorted(([plain(value) for value in row] for row in answer), key=str)
        expected = sorted(([plain(value) for value in row] for row in rows(str(lake), for_duckdb)[1]), key=str)
        assert got == expected and got, question
