"""Messages of the stream as rows of the four tables. Pure functions.

The tenant and the host come from the message's subject, which the server's permissions guard. A body that names others
changes nothing.
"""

from __future__ import annotations

import datetime
import json
import re
from typing import Any, NamedTuple

import pyarrow as pa

FORMAT = 1
ARCHIVE_NAME = re.compile(r"[0-9A-Za-z_]{1,64}")
"""digd sends 32 hexadecimal digits. Names of files join it with numbers by hyphens, so it has none."""
END_MS = 253_402_300_800_000
"""The year 10000, for which Python and DuckDB have no dates."""
MAX_INT = (1 << 63) - 1
SUBJECT_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}")
"""What digd accepts as `fleet.tenant` and `fleet.host`."""
SCHEMA_VERSION = 1
"""Of the Parquet files: the folder `v1`. A new column keeps the version, a changed one begins `v2`."""

_KEYS = [
    ("host", pa.string()),
    ("archive", pa.string()),
    ("entry", pa.int64()),
    ("run", pa.string()),
    ("run_number", pa.int64()),
    ("arrived_ms", pa.int64()),
    # A run that moved between daemons: the first home's names identify it, and `epoch` counts its homes.
    ("epoch", pa.int64()),
    ("origin_archive", pa.string()),
    ("origin_run_number", pa.int64()),
]

ORIGIN = ("epoch", "origin_archive", "origin_run_number")
KEYS = tuple(name for name, _ in _KEYS)

TABLES: dict[str, pa.Schema] = {
    "entries": pa.schema(
        _KEYS
        + [
            ("n", pa.int64()),
            ("kind", pa.string()),
            ("session", pa.string()),
            ("seq", pa.int64()),
            ("ts", pa.int64()),
            ("type", pa.string()),
            ("code", pa.string()),
            ("verdicts", pa.string()),
            ("frame", pa.string()),
            ("cut", pa.bool_()),
            # The message's place in the stream, for its deletion there.
            ("sequence", pa.int64()),
        ]
    ),
    "detections": pa.schema(
        _KEYS
        + [
            ("id", pa.int64()),
            ("rule", pa.string()),
            ("severity", pa.string()),
            ("session", pa.string()),
            ("at", pa.int64()),
            ("ts", pa.int64()),
            ("event", pa.string()),
            ("agent", pa.string()),
            ("healed", pa.bool_()),
            ("healing", pa.string()),
            ("cause", pa.string()),
            ("subject", pa.string()),
            ("place", pa.string()),
            ("detection", pa.string()),
            ("action", pa.string()),
            ("limits", pa.string()),
            ("hold", pa.string()),
            ("more_evidence", pa.string()),
        ]
    ),
    "interventions": pa.schema(
        _KEYS
        + [
            ("id", pa.string()),
            ("action", pa.string()),
            ("event", pa.string()),
            ("ts", pa.int64()),
            ("intervention", pa.string()),
            ("position", pa.int64()),
        ]
    ),
    "outcomes": pa.schema(
        _KEYS
        + [
            ("rule", pa.string()),
            ("event", pa.string()),
            ("detected_ts", pa.int64()),
            ("ts", pa.int64()),
            ("outcome", pa.string()),
            ("position", pa.int64()),
        ]
    ),
}
"""The columns of each table. Every row carries the archive and the entry that it came with: its key. `position` is the
row's place among the rows of its entry."""
OTHER_TABLES = tuple(table for table in TABLES if table != "entries")
"""Their rows came with an entry."""
_PYTHON_TYPES = {pa.string(): str, pa.int64(): int, pa.bool_(): bool}
COLUMN_TYPES = {
    table: {field.name: _PYTHON_TYPES[field.type] for field in schema} for table, schema in TABLES.items()
}
"""The types of their values as JSON has them."""


class Partition(NamedTuple):
    tenant: str
    day: str
    """When digd received the message, in UTC: 2026-01-31."""


class RunKey(NamedTuple):
    """Names a run uniquely, by its first home: that archive never uses the number again."""

    tenant: str
    archive: str
    run_number: int


class BadMessage(ValueError):
    """The text says what was expected."""


class Moved(NamedTuple):
    """Another daemon became the home of the run, with this epoch."""

    run: RunKey
    epoch: int
    entries: int | None
    """How many entries of earlier homes it kept; what they published beyond these is void. None: not known yet."""


class Rows(NamedTuple):
    partition: Partition
    run: RunKey
    epoch: int
    n: int
    tables: dict[str, list[dict[str, Any]]]


def day_of(arrived_ms: int) -> str:
    """The day in UTC. Raises BadMessage for a time before 1970 or after the year 9999."""
    if not 0 <= arrived_ms < END_MS:
        raise BadMessage(f"arrived_ms: expected 0 to {END_MS - 1}, got {arrived_ms}")
    return datetime.datetime.fromtimestamp(arrived_ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%d")


def place_of(subject: str) -> tuple[str, str]:
    """The tenant and the host of `digd.archive.TENANT.HOST`, which become parts of paths."""
    parts = subject.split(".")
    if len(parts) != 4 or parts[:2] != ["digd", "archive"]:
        raise BadMessage(f"subject {subject!r}: expected digd.archive.TENANT.HOST")
    if not all(SUBJECT_NAME.fullmatch(part) for part in parts[2:]):
        raise BadMessage(f"subject {subject!r}: expected names of 1 to 64 letters, digits, - and _")
    return parts[2], parts[3]


def _archive_name(text: str, field: str) -> str:
    """The name of an archive, which becomes a part of paths."""
    if not ARCHIVE_NAME.fullmatch(text):
        raise BadMessage(f"{field}: {text!r} is not the name of an archive: expected 1 to 64 letters, digits and _")
    return text


def _misfit(value: Any, kind: type) -> str:
    """The reason why the value does not fit a column of this type; empty if it fits."""
    found: type = type(value)
    if found is not kind:
        return f"expected {kind.__name__}, got {found.__name__}"
    if kind is int and not -MAX_INT - 1 <= value <= MAX_INT:
        return f"expected 64 bits, got a number of {value.bit_length()}"
    if kind is str and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "expected Unicode, got a lone surrogate"
    return ""


def _field(body: dict[str, Any], name: str, kind: type) -> Any:
    value = body.get(name)
    if misfit := _misfit(value, kind):
        raise BadMessage(f"{name}: {misfit}")
    return value


def _check_columns(table: str, row: dict[str, Any]) -> None:
    """Raises BadMessage unless each column of the row is null or fits its type in Parquet."""
    for name, kind in COLUMN_TYPES[table].items():
        value = row.get(name)
        if value is not None and (misfit := _misfit(value, kind)):
            raise BadMessage(f"{table}: {name}: {misfit}")


def _row(table: str, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise BadMessage(f"{table}: expected objects, got {type(item).__name__}")
    return item


def decode(subject: str, message_id: str, data: bytes, sequence: int | None = None) -> Rows | RunKey | Moved:
    """Decodes a message: an entry, as rows; a deletion, as the run; or a `run_moved` or `run_restored`, as Moved.

    Raises BadMessage. The rows that it returns fit their tables.

    `message_id` is the header `Nats-Msg-Id`: ARCHIVE:ENTRY, ARCHIVE:deleted:RUN_NUMBER, ARCHIVE:moved:RUN_NUMBER:EPOCH
    or ARCHIVE:restored:RUN_NUMBER:EPOCH. `sequence` is the message's place in the stream, by which it can be deleted.
    """
    tenant, host = place_of(subject)
    archive, _, rest = message_id.partition(":")
    if not archive or not rest:
        raise BadMessage(f"Nats-Msg-Id {message_id!r}: expected ARCHIVE:ENTRY")
    _archive_name(archive, "Nats-Msg-Id")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"body: expected JSON: {error}") from None
    if not isinstance(body, dict):
        raise BadMessage(f"body: expected an object, got {type(body).__name__}")
    if body.get("format") != FORMAT:
        raise BadMessage(f"format: this collector knows {FORMAT}, got {body.get('format')!r}")
    run_number = _field(body, "run_number", int)
    run, epoch = RunKey(tenant, archive, run_number), 1
    if "origin_archive" in body:
        origin_archive = _archive_name(_field(body, "origin_archive", str), "origin_archive")
        run = RunKey(tenant, origin_archive, _field(body, "origin_run_number", int))
        epoch = _field(body, "epoch", int)
    kind = _field(body, "kind", str)
    if kind == "run_deleted":
        return run
    if kind in ("run_moved", "run_restored"):
        return Moved(run, epoch, _field(body, "entries", int) if kind == "run_restored" else None)
    key = {
        "host": host,
        "archive": archive,
        "entry": _field(body, "entry", int),
        "run": _field(body, "run", str),
        "run_number": run_number,
        "arrived_ms": _field(body, "arrived_ms", int),
        "epoch": epoch,
        "origin_archive": run.archive,
        "origin_run_number": run.run_number,
    }
    entry = {**body, **key, "cut": bool(body.get("cut")), "sequence": sequence}
    tables: dict[str, list[dict[str, Any]]] = {"entries": [entry]}
    for table in OTHER_TABLES:
        found = (_row(table, item) for item in _field(body, table, list))
        tables[table] = [{**row, **key, "position": i} for i, row in enumerate(found)]
    for row in tables["detections"]:
        row["healed"] = bool(row.get("healed"))
    for table, rows in tables.items():
        for row in rows:
            _check_columns(table, row)
    return Rows(Partition(tenant, day_of(key["arrived_ms"])), run, epoch, _field(body, "n", int), tables)


def as_table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Sorted by run, so that readers of one run skip most row groups."""
    try:
        table = pa.Table.from_pylist(rows, schema=TABLES[name])
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BadMessage(f"{name}: {error}") from None
    return sort(table)


def sort(table: pa.Table) -> pa.Table:
    return table.sort_by([("run", "ascending"), ("archive", "ascending"), ("entry", "ascending")])
