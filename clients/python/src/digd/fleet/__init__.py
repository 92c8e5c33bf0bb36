"""The past of a fleet as Parquet files: collected from its stream, and read with SQL.

digd publishes what its archive stores to a stream of NATS JetStream (`[fleet]` of its configuration). Collectors move
that into Parquet files, which any engine can read. docs/fleet.md describes the messages, the files and the promises.

    python -m digd.fleet collect ROOT --nats nats://127.0.0.1:4222
    python -m digd.fleet runs ROOT
    python -m digd.fleet sql ROOT "SELECT rule, count(*) FROM detections GROUP BY rule"

Needs the extra `fleet` of the wheel: nats-py, pyarrow, duckdb and obstore.
"""
