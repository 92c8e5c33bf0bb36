"""Reads the Parquet files of a fleet with DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from .files import Files, LocalFiles, open_files
from .rows import SCHEMA_VERSION, TABLES, Rows, as_table

FETCH = 2000
"""Rows of a result that are in memory at one time."""
PARTITIONS = [("tenant", pa.string()), ("day", pa.date32())]

RUNS = """
CREATE VIEW runs AS
SELECT tenant, arg_max(host, epoch) AS host, origin_archive AS archive, origin_run_number AS run_number,
       max(epoch) AS homes, run, min(arrived_ms) AS opened_ms,
       max(arrived_ms) AS heard_ms, count(*) FILTER (kind = 'message') AS messages,
       max(coalesce(frame ->> '$.outcome', 'unknown')) FILTER (type = 'run_ended' AND kind = 'message') AS ended,
       any_value(frame -> '$.labels') FILTER (kind = 'run_opened') AS labels
FROM entries GROUP BY tenant, origin_archive, origin_run_number, run
"""


def connect(root: str, live: Sequence[Rows] = ()) -> duckdb.DuckDBPyConnection:
    """A connection with a view for each table, and `runs`.

    The views also have those rows of `live`, from the stream, that the files lack. Raises FileNotFoundError if there
    is neither a file nor such a row.
    """
    files = open_files(root, f"v{SCHEMA_VERSION}")
    if not live and not _parts(files, "entries"):
        raise FileNotFoundError(f"{root}: no entries of a fleet below it; `python -m digd.fleet collect` writes them")
    db = duckdb.connect()
    for table, schema in TABLES.items():
        stored = _with_origin(_stored(db, files, table, schema))
        if not live:
            db.execute(f"CREATE VIEW {table} AS {stored}")
            continue
        db.register("arrived", live_table(table, live))
        db.execute(f"CREATE TABLE live_{table} AS FROM arrived")
        if table == "entries":
            db.execute(
                f"CREATE TEMP TABLE collected AS SELECT archive, entry FROM ({stored}) AS stored"
                " SEMI JOIN live_entries USING (archive, entry)"
            )
        db.execute(
            f"CREATE VIEW {table} AS {stored} UNION ALL BY NAME SELECT live.* FROM live_{table} AS live"
            " ANTI JOIN collected USING (archive, entry)"
        )
    db.execute(RUNS)
    return db


def _parts(files: Files, table: str) -> list[str]:
    return [file.path for file in files.list(table) if file.name.endswith(".parquet")]


def _stored(db: duckdb.DuckDBPyConnection, files: Files, table: str, schema: pa.Schema) -> str:
    """A query for the rows in the files. Files of an earlier digd lack the newer columns."""
    parts = _parts(files, table)
    if parts and isinstance(files, LocalFiles):
        paths = f"{files.root}/{table}/tenant=*/day=*/*.parquet".replace("'", "''")
        types = "hive_types = {'tenant': VARCHAR, 'day': DATE}"
        return f"SELECT * FROM read_parquet('{paths}', hive_partitioning = true, union_by_name = true, {types})"
    if parts:  # DuckDB itself reads S3 only with an extension that it downloads
        import pyarrow.dataset as ds

        system, base = files.dataset()
        columns = pa.schema([*schema, *(pa.field(name, kind) for name, kind in PARTITIONS)])
        db.register(
            f"stored_{table}",
            ds.dataset(
                [f"{base}/{path}" for path in parts],
                schema=columns,
                filesystem=system,
                format="parquet",
                partitioning=ds.partitioning(pa.schema(PARTITIONS), flavor="hive"),
            ),
        )
        return f"SELECT * FROM stored_{table}"
    names = ", ".join(f"NULL::{_sql_type(str(field.type))} AS \"{field.name}\"" for field in schema)
    return f"SELECT {names}, '' AS tenant, NULL::DATE AS day WHERE false"


def _with_origin(query: str) -> str:
    """Fills the columns that files from before runs had homes lack."""
    return (
        "SELECT * REPLACE (coalesce(epoch, 1) AS epoch, coalesce(origin_archive, archive) AS origin_archive,"
        f" coalesce(origin_run_number, run_number) AS origin_run_number) FROM ({query}) AS rows_of_files"
    )


def live_table(table: str, live: Sequence[Rows]) -> pa.Table:
    parts = []
    for partition in sorted({rows.partition for rows in live}):
        rows = as_table(table, [row for entry in live if entry.partition == partition for row in entry.tables[table]])
        day = pa.array([partition.day] * rows.num_rows, pa.string()).cast(pa.date32())
        rows = rows.append_column("tenant", pa.array([partition.tenant] * rows.num_rows, pa.string()))
        parts.append(rows.append_column("day", day))
    return pa.concat_tables(parts)


def _sql_type(arrow: str) -> str:
    return {"string": "VARCHAR", "int64": "BIGINT", "bool": "BOOLEAN"}[arrow]


def rows(root: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows of a query."""
    result = connect(root).execute(sql)
    return [column[0] for column in result.description or []], result.fetchall()
