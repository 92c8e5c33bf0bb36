"""Answers the dashboard's fleet page: totals of a time span, also by label, and lists of runs. Only SQL on the index.

Answers are JSON objects. Bounds: `MAX_GROUPS`, `MAX_HOSTS`, `MAX_LABELS` and `MAX_LIMIT` rows. Failure: `Refused`.
"""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

import duckdb

MAX_GROUPS = 100
MAX_HOSTS = 1_000
MAX_LABELS = 50
MAX_LIMIT = 500
MAX_TEXT = 200
BINS = 48
OUTCOMES = ("success", "failure", "unknown", "aborted")
GROUPS = ("tenant", "host")
"""Beside labels, which are asked for as label:NAME."""

Given = dict[str, str]


class Refused(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Span(NamedTuple):
    since_ms: int
    until_ms: int


def number(given: Given, name: str, otherwise: int, low: int, high: int) -> int:
    text = given.get(name)
    if text is None:
        return otherwise
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise Refused(400, "bad_parameter", f"{name}: expected a whole number from {low} to {high}")
    return int(text)


def text(given: Given, name: str) -> str:
    found = given.get(name, "")
    if len(found) > MAX_TEXT:
        raise Refused(400, "bad_parameter", f"{name}: expected at most {MAX_TEXT} characters")
    return found


def span(given: Given) -> Span:
    far = 1 << 52
    return Span(number(given, "since", 0, 0, far), number(given, "until", far, 0, far))


def group(given: Given) -> tuple[str, list[Any]]:
    """The SQL expression that `by` stands for, and the values of its parameters."""
    by = text(given, "by") or "tenant"
    if by in GROUPS:
        return by, []
    if not by.startswith("label:"):
        raise Refused(400, "bad_parameter", "by: expected tenant, host or label:NAME")
    # The name as a JSON pointer.
    return "labels ->> ?", ["/" + by.removeprefix("label:").replace("~", "~0").replace("/", "~1")]


IN_SPAN = "heard_ms >= ? AND opened_ms <= ?"


def _objects(db: duckdb.DuckDBPyConnection, sql: str, values: list[Any]) -> list[dict[str, Any]]:
    result = db.execute(sql, values)
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row)) for row in result.fetchall()]


SUMS = f"""
  count(*) AS runs, count(*) FILTER (ended IS NULL) AS open,
  {", ".join(f"count(*) FILTER (ended = '{outcome}') AS {outcome}" for outcome in OUTCOMES)},
  coalesce(sum(messages), 0)::BIGINT AS messages, coalesce(sum(detections), 0)::BIGINT AS detections,
  coalesce(sum(healed), 0)::BIGINT AS healed, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
  sum(cost) AS cost
"""


def overview(db: duckdb.DuckDBPyConnection, given: Given) -> dict[str, Any]:
    """Everything on the page except the list of runs and the hosts."""
    asked = span(given)
    by, by_values = group(given)
    inside = list(asked)
    (totals,) = _objects(db, f"SELECT {SUMS} FROM runs WHERE {IN_SPAN}", inside)
    groups = _objects(
        db,
        f"SELECT {by} AS value, {SUMS} FROM runs WHERE {IN_SPAN} GROUP BY ALL"
        f" ORDER BY runs DESC, value NULLS LAST LIMIT {MAX_GROUPS + 1}",
        [*by_values, *inside],
    )
    rules = _objects(
        db,
        "SELECT rule, sum(d.detections)::BIGINT AS detections, sum(d.healed)::BIGINT AS healed, count(*) AS runs"
        f" FROM rules AS d JOIN runs USING (tenant, archive, run_number) WHERE {IN_SPAN}"
        " GROUP BY rule ORDER BY 2 DESC, rule",
        inside,
    )
    return {
        "totals": totals,
        "groups": groups[:MAX_GROUPS],
        "groups_left_out": len(groups) > MAX_GROUPS,
        "rules": rules,
        "labels": _labels(db, inside),
        "series": _series(db, asked),
    }


def _labels(db: duckdb.DuckDBPyConnection, inside: list[int]) -> list[str]:
    sql = (
        f"SELECT name FROM (SELECT unnest(json_keys(labels)) AS name FROM runs WHERE labels IS NOT NULL AND {IN_SPAN})"
        f" GROUP BY name ORDER BY count(*) DESC, name LIMIT {MAX_LABELS}"
    )
    return [name for (name,) in db.execute(sql, inside).fetchall()]


def _series(db: duckdb.DuckDBPyConnection, asked: Span) -> dict[str, Any] | None:
    """The number of runs opened in each section of the span. Null: no run was opened in the span."""
    inside = "opened_ms BETWEEN ? AND ?"
    sql = f"SELECT min(opened_ms), max(opened_ms) FROM runs WHERE {inside}"
    ((first, last),) = db.execute(sql, list(asked)).fetchall()
    if first is None or last is None:
        return None
    start = max(asked.since_ms, first)
    end = min(asked.until_ms, max(last, start + 1))
    width = max(1, -(-(end - start + 1) // BINS))
    bins: dict[str, list[int]] = {name: [0] * BINS for name in ("runs", "failure", "detected")}
    sql = (
        "SELECT (opened_ms - ?) // ? AS bin, count(*), count(*) FILTER (ended IN ('failure', 'aborted')),"
        f" count(*) FILTER (detections > 0) FROM runs WHERE {inside} GROUP BY bin"
    )
    for at, *counts in db.execute(sql, [start, width, start, end]).fetchall():
        for name, count in zip(bins, counts):
            bins[name][min(at, BINS - 1)] += count
    return {"start_ms": start, "width_ms": width, **bins}


def hosts(db: duckdb.DuckDBPyConnection, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Hosts that the rows or the stream's records name; `records` have `tenant` and `host`."""
    rows = _objects(
        db,
        "SELECT h.*, coalesce(r.runs, 0) AS runs, coalesce(r.open, 0) AS open FROM hosts AS h LEFT JOIN"
        " (SELECT tenant, host, count(*) AS runs, count(*) FILTER (ended IS NULL) AS open FROM runs GROUP BY ALL)"
        f" AS r USING (tenant, host) ORDER BY heard_ms DESC, tenant, host LIMIT {MAX_HOSTS + 1}",
        [],
    )
    empty = {"heard_ms": None, "messages": 0, "runs": 0, "open": 0}
    found = {(row["tenant"], row["host"]): {**row, "record": None} for row in rows[:MAX_HOSTS]}
    left_out = len(rows) > MAX_HOSTS
    for record in records:
        key = (record["tenant"], record["host"])
        if key not in found and len(found) >= MAX_HOSTS:
            left_out = True
            continue
        row = found.setdefault(key, {"tenant": key[0], "host": key[1], **empty, "record": None})
        row["record"] = {name: value for name, value in record.items() if name not in ("tenant", "host")}
    return {"hosts": [found[key] for key in sorted(found)], "hosts_left_out": left_out}


# ---- lists of runs


def _conditions(given: Given) -> tuple[str, list[Any]]:
    asked = span(given)
    sql, values = [IN_SPAN], list[Any](asked)
    if "value" in given or "none" in given:
        by, by_values = group(given)
        if "none" in given:
            sql.append(f"({by}) IS NULL")
            values += by_values
        else:
            sql.append(f"({by}) = ?")
            values += [*by_values, text(given, "value")]
    state = text(given, "state")
    if state == "open":
        sql.append("ended IS NULL")
    elif state == "detected":
        sql.append("detections > 0")
    elif state in OUTCOMES:
        sql.append("ended = ?")
        values.append(state)
    elif state:
        raise Refused(400, "bad_parameter", f"state: expected open, detected, {', '.join(OUTCOMES)}")
    if rule := text(given, "rule"):
        sql.append(
            "EXISTS (SELECT 1 FROM rules AS d WHERE d.rule = ? AND d.tenant = runs.tenant"
            " AND d.archive = runs.archive AND d.run_number = runs.run_number)"
        )
        values.append(rule)
    for word in text(given, "find").lower().split():
        sql.append("contains(lower(run || ' ' || tenant || ' ' || host || ' ' || coalesce(labels, '')), ?)")
        values.append(word)
    return " AND ".join(sql), values


def runs(db: duckdb.DuckDBPyConnection, given: Given) -> dict[str, Any]:
    """Newest first. Members as in a daemon's /v1/runs, and `tenant`, `host`, `id`; `run` is the name in addresses."""
    limit = number(given, "limit", 50, 1, MAX_LIMIT)
    before = number(given, "cursor", 1 << 62, 1, 1 << 62)
    where, values = _conditions(given)
    sql = f"SELECT * FROM runs WHERE {where} AND number < ? ORDER BY number DESC LIMIT ?"
    found = _objects(db, sql, [*values, before, limit + 1])
    ((total,),) = db.execute(f"SELECT count(*) FROM runs WHERE {where}", values).fetchall()
    listed = [_run(row) for row in found[:limit]]
    return {"runs": listed, "next": str(listed[-1]["number"]) if len(found) > limit else None, "total": total}


def _run(row: dict[str, Any]) -> dict[str, Any]:
    mode = row["mode"] or "enforce"
    used = {name: row[name] for name in ("input_tokens", "output_tokens", "cost")}
    return {
        "run": row["name"],
        "id": row["run"],
        "tenant": row["tenant"],
        "host": row["host"],
        "number": row["number"],
        "state": "open" if row["ended"] is None else "ended",
        "mode": mode,
        "operator_mode": mode,
        **{name: row[name] for name in ("opened_ms", "last_ts", "ended", "ended_ms", "heard_ms", "bytes")},
        "counts": {name: row[name] for name in ("messages", "refused", "detections", "healed")},
        "usage": used if any(value is not None for value in used.values()) else None,
        "labels": json.loads(row["labels"]) if row["labels"] else {},
    }


def now_ms() -> int:
    return time.time_ns() // 1_000_000
