"""Multiplies a few real runs into the Parquet files of a large fleet, for tests and measurements.

    many_runs.py FROM TO RUNS [HOSTS]
"""

import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from digd.fleet.rows import TABLES, day_of, sort
from digd.fleet.store import _parquet

TEAMS = ("search", "billing", "support", "research", "release")


def read(lake, table):
    files = sorted(Path(lake).glob(f"v1/{table}/tenant=*/day=*/*.parquet"))
    parts = [pq.read_table(file, partitioning=None).select(TABLES[table].names).cast(TABLES[table]) for file in files]
    return pa.concat_tables(parts) if parts else TABLES[table].empty_table()


def relabelled(rows, labels):
    """The rows of a run with other labels in its `run_opened`."""
    frames = rows["frame"].to_pylist()
    for i, kind in enumerate(rows["kind"].to_pylist()):
        if kind == "run_opened":
            frames[i] = json.dumps({**json.loads(frames[i]), "labels": labels})
    return rows.set_column(rows.column_names.index("frame"), "frame", pa.array(frames, pa.string()))


def replaced(rows, **values):
    for name, value in values.items():
        at = rows.column_names.index(name)
        column = value if isinstance(value, (pa.Array, pa.ChunkedArray)) else pa.array([value] * rows.num_rows)
        rows = rows.set_column(at, rows.schema.field(name), column.cast(rows.schema.field(name).type))
    return rows


def multiply(source, target, runs, hosts=4, now_ms=None, days=7, seed=1):
    """Each run is a copy of one of the source's, with an id, a host, labels and times of its own."""
    rng = random.Random(seed)
    tables = {table: read(source, table) for table in TABLES}
    entries = tables["entries"]
    keys = sorted(set(zip(entries["archive"].to_pylist(), entries["run_number"].to_pylist())))
    now_ms = now_ms or max(entries["arrived_ms"].to_pylist())
    models = []
    for archive, number in keys:
        of_run = {
            table: rows.filter(pc.and_(pc.equal(rows["archive"], archive), pc.equal(rows["run_number"], number)))
            for table, rows in tables.items()
        }
        models.append((min(of_run["entries"]["arrived_ms"].to_pylist()), of_run))
    parts = {}
    for i in range(runs):
        began, model = rng.choice(models)
        host = rng.randrange(hosts)
        opened = now_ms - rng.randrange(days * 86_400_000)
        shift = {"entry": i * 100_000, "number": i + 1}
        labels = {"team": rng.choice(TEAMS), "version": f"1.{rng.randrange(4)}"}
        for table, rows in model.items():
            if rows.num_rows == 0:
                continue
            rows = replaced(
                rows,
                host=f"h{host + 1}",
                archive=f"arch{host + 1}",
                origin_archive=f"arch{host + 1}",
                run=f"{labels['team']}-{i:05}",
                run_number=shift["number"],
                origin_run_number=shift["number"],
                entry=pc.add(rows["entry"], shift["entry"]),
                arrived_ms=pc.add(pc.subtract(rows["arrived_ms"], began), opened),
            )
            if table == "detections":
                rows = replaced(rows, id=pc.add(rows["id"], shift["entry"]))
            if table == "entries":
                rows = relabelled(rows, labels)
            parts.setdefault((table, day_of(opened)), []).append(rows)
    for (table, day), rows in parts.items():
        folder = Path(target) / "v1" / table / "tenant=default" / f"day={day}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "part-00000001.parquet").write_bytes(_parquet(sort(pa.concat_tables(rows))))


if __name__ == "__main__":
    multiply(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 4)
