"""Where a fleet is: the place of its Parquet files, and the servers of its stream."""

from __future__ import annotations

import os
import ssl
import urllib.parse
from collections.abc import Iterable
from typing import Any, NamedTuple

STREAM_SCHEMES = ("nats", "tls", "ws", "wss")


class WrongUse(ValueError):
    """A usage error. The text is shown to the user, and the exit status is 2."""


class Lost(Exception):
    """No request to the servers of the stream succeeded for too long."""


class Fleet(NamedTuple):
    root: str | None
    """A folder, or s3://BUCKET/PATH; None: only the stream was named."""
    servers: list[str]
    credentials: str | None
    ca: str | None = None
    """A PEM file: who may sign the servers' certificates; None: the authorities of the system."""

    def connect_options(self) -> dict[str, Any]:
        """For nats.connect. Raises WrongUse."""
        options: dict[str, Any] = {"servers": self.need_servers(), "user_credentials": self.credentials}
        if self.ca is not None or any(url.startswith(("tls:", "wss:")) for url in self.servers):
            try:
                options["tls"] = ssl.create_default_context(cafile=self.ca)
            except OSError as error:  # ssl.SSLError too
                raise WrongUse(f"{self.ca or 'TLS'}: {error}") from None
        if self.credentials is not None and not os.access(self.credentials, os.R_OK):
            raise WrongUse(f"{self.credentials}: the credentials file cannot be read")
        return options

    @property
    def shown_servers(self) -> str:
        """For messages: without user names and passwords."""
        return ", ".join(map(shown_url, self.servers))

    def need_root(self) -> str:
        if self.root is None:
            raise WrongUse("--fleet: name the Parquet files too: a folder, or s3://BUCKET/PATH")
        return self.root

    def need_servers(self) -> list[str]:
        if not self.servers:
            raise WrongUse("--fleet: name the stream too: nats://HOST:PORT")
        return self.servers


def shown_url(url: str) -> str:
    """The URL for messages, without user name and password."""
    scheme, mark, rest = url.partition("://")
    return scheme + mark + rest.rpartition("@")[2] if mark else url


def parse(urls: Iterable[str], credentials: str | None = None, ca: str | None = None) -> Fleet:
    """`urls`: a folder, file:// or s3:// URL for the Parquet files, and nats:// URLs for the stream, in any order."""
    root: str | None = None
    servers: list[str] = []
    for url in urls:
        scheme, _, rest = url.partition("://")
        if rest and scheme in STREAM_SCHEMES:
            servers.append(url)
            continue
        if rest and scheme not in ("s3", "file"):
            raise WrongUse(f"--fleet {shown_url(url)}: expected a folder, s3://BUCKET/PATH or nats://HOST:PORT")
        if root is not None:
            raise WrongUse(f"--fleet {shown_url(url)}: the Parquet files are in {shown_url(root)} already")
        root = urllib.parse.unquote(rest) if scheme == "file" and rest else url
    if root is None and not servers:
        raise WrongUse("--fleet: expected a folder, s3://BUCKET/PATH or nats://HOST:PORT")
    credentials = credentials or os.environ.get("DIGD_FLEET_CREDENTIALS") or None
    return Fleet(root, servers, credentials, ca or os.environ.get("DIGD_FLEET_CA") or None)
