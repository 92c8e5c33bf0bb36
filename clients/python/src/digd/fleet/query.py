"""Reads the Parquet files of a fleet with DuckDB."""

from __future__ import annotations

import pathlib
from typing import Any

import duckdb

from .rows import SCHEMA_VERSION, TABLES

RUNS = """
CREATE VIEW runs AS
SELECT tenant, host, archive, run_number, any_value(run) AS run, min(arrived_ms) AS opened_ms,
       max(arrived_ms) AS heard_ms, count(*) FILTER (kind = 'message') AS messages,
       max(frame ->> '$.outcome') FILTER (type = 'run_ended' AND kind = 'message') AS ended,
       any_value(frame -> '$.labels') FILTER (kind = 'run_opened') AS labels
FROM entries GROUP BY tenant, host, archive, run_number
"""


def connect(root: str) -> duckdb.DuckDBPyConnection:
    """A connection with a view for each table, and `runs`. Raises FileNotFoundError if the folder has no files."""
    base = pathlib.Path(root) / f"v{SCHEMA_VERSION}"
    if not any(base.glob("entries/tenant=*/day=*/*.parquet")):
        raise FileNotFoundError(f"{root}: no entries of a fleet below it; `python -m digd.fleet collect` writes them")
    db = duckdb.connect()
    for table, schema in TABLES.items():
        if any(base.glob(f"{table}/tenant=*/day=*/*.parquet")):
            files = str(base / table / "tenant=*" / "day=*" / "*.parquet").replace("'", "''")
            types = "hive_types = {'tenant': VARCHAR, 'day': DATE}"
            db.execute(f"CREATE VIEW {table} AS FROM read_parquet('{files}', hive_partitioning = true, {types})")
        else:
            names = ", ".join(f"NULL::{_sql_type(str(field.type))} AS \"{field.name}\"" for field in schema)
            db.execute(f"CREATE VIEW {table} AS SELECT {names}, '' AS tenant, NULL::DATE AS day WHERE false")
    db.execute(RUNS)
    return db


def _sql_type(arrow: str) -> str:
    return {"string": "VARCHAR", "int64": "BIGINT", "bool": "BOOLEAN"}[arrow]


def rows(root: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows of a query."""
    result = connect(root).execute(sql)
    return [column[0] for column in result.description or []], result.fetchall()
