"""Where a fleet is: the place of its Parquet files, and the servers of its stream."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterable
from typing import NamedTuple

STREAM_SCHEMES = ("nats", "tls", "ws", "wss")


class WrongUse(ValueError):
    """A sentence for people."""


class Fleet(NamedTuple):
    root: str | None
    """A folder, or s3://BUCKET/PATH; None: only the stream was named."""
    servers: list[str]
    credentials: str | None

    def need_root(self) -> str:
        if self.root is None:
            raise WrongUse("--fleet: name the Parquet files too: a folder, or s3://BUCKET/PATH")
        return self.root

    def need_servers(self) -> list[str]:
        if not self.servers:
            raise WrongUse("--fleet: name the stream too: nats://HOST:PORT")
        return self.servers


def parse(urls: Iterable[str], credentials: str | None = None) -> Fleet:
    """`urls`: a folder, file:// or s3:// URL for the Parquet files, and nats:// URLs for the stream, in any order."""
    root: str | None = None
    servers: list[str] = []
    for url in urls:
        scheme, _, rest = url.partition("://")
        if rest and scheme in STREAM_SCHEMES:
            servers.append(url)
            continue
        if rest and scheme not in ("s3", "file"):
            raise WrongUse(f"--fleet {url}: expected a folder, s3://BUCKET/PATH or nats://HOST:PORT")
        if root is not None:
            raise WrongUse(f"--fleet {url}: the Parquet files are in {root} already")
        root = urllib.parse.unquote(rest) if scheme == "file" and rest else url
    if root is None and not servers:
        raise WrongUse("--fleet: expected a folder, s3://BUCKET/PATH or nats://HOST:PORT")
    return Fleet(root, servers, credentials or os.environ.get("DIGD_FLEET_CREDENTIALS") or None)
