"""Finds texts that agents said in all runs of a fleet: the newest files first, a piece at a time.

A search ends when it has enough hits, after `MAX_SECONDS`, or at the oldest file. Its cursor says where to continue. It
reads payloads as they are stored, without an index. Bounds: `MAX_LIMIT` hits, `MAX_PIECE_BYTES` of files at a time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from .files import File
from .index import FleetIndex, place_of_file, read
from .page import Given, Refused, number, text
from .rows import Rows

MAX_SECONDS = 6.0
MAX_LIMIT = 100
MAX_PIECE_BYTES = 8 << 20
MAX_PIECE_FILES = 64
FETCH = 500
HAS_WORD = " AND (frame ILIKE ? ESCAPE '!' OR (contains(frame, '\\') AND frame ILIKE ? ESCAPE '!'))"
AROUND = 60
MAX_WORDS = 12

COLUMNS = (
    *("tenant", "archive", "origin_archive", "run_number", "origin_run_number", "entry", "arrived_ms", "kind"),
    "frame",
)
Hit = dict[str, Any]


def payload_texts(value: Any) -> Iterator[str]:
    """All strings of a payload."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from payload_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from payload_texts(item)


def excerpt(found: str, word: str) -> str:
    at = max(found.lower().find(word), 0)
    start, end = max(at - AROUND, 0), min(at + len(word) + AROUND, len(found))
    return ("…" if start > 0 else "") + found[start:end] + ("…" if end < len(found) else "")


def hits_of(frame: str, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The events of a message whose payloads have all words, each with an excerpt."""
    try:
        message = json.loads(frame)
    except ValueError:
        return
    events = [message.get("event"), *(message.get("outputs") or [])] if isinstance(message, dict) else []
    for event in events:
        if not isinstance(event, dict):
            continue
        whole = "\n".join(payload_texts(event.get("payload")))
        lower = whole.lower()
        if all(word in lower for word in words):
            yield str(event.get("id")), excerpt(whole, words[0])


def _likes(word: str) -> tuple[str, str]:
    """Patterns for the word in JSON: the word itself, and the word with % for each character that JSON may escape.

    The second also matches other words, so `hits_of` checks each match.
    """
    plain = ["!" + c if c in "!%_" else c for c in word]
    loose = ["%" if not c.isascii() or not c.isprintable() or c in '"\\/' else c for c in plain]
    return f"%{''.join(plain)}%", f"%{''.join(loose)}%"


class Search:
    """One request."""

    def __init__(self, index: FleetIndex, live: Sequence[Rows], given: Given) -> None:
        self._index, self._live = index, live
        self._words = text(given, "q").lower().split()[:MAX_WORDS]
        if not self._words:
            raise Refused(400, "bad_parameter", "q: expected words to find")
        self._limit = min(number(given, "limit", 50, 1, 500), MAX_LIMIT)
        self._place, _, skip = text(given, "cursor").rpartition("|")
        self._skip = int(skip) if skip.isdigit() else 0
        self._deadline = time.monotonic() + MAX_SECONDS
        self._names = dict[tuple[str, str, int], str]()
        self.hits: list[Hit] = []

    def answer(self) -> dict[str, Any]:
        files = self._index.entry_files()
        following: str | None = None
        if self._place in ("", "live"):
            if (taken := self._take(self._live_hits())) is not None:
                return self._page("live", taken, None)
        else:
            files = [file for file in files if _cursor_of(file) <= self._place]
        for piece in _pieces(files):
            following = _cursor_of(piece[0])
            day = place_of_file(piece[0])[0]
            if time.monotonic() > self._deadline:
                return self._page(following, self._skip, day)
            if (taken := self._take(self._hits_in(piece))) is not None:
                return self._page(following, taken, day)
        return self._page(None, 0, None)

    def _page(self, place: str | None, skip: int, day: str | None) -> dict[str, Any]:
        """The answer. `day`: the search has read everything after this day."""
        following = None if place is None else f"{place}|{skip}"
        return {"on": True, "hits": self.hits, "next": following, "read_down_to": day}

    def _take(self, found: Iterator[Hit]) -> int | None:
        """Adds hits up to the limit. Returns how many of `found` the next request must skip; None if no hit is left."""
        for i, hit in enumerate(found):
            if i < self._skip:
                continue
            if len(self.hits) >= self._limit:
                return i
            self.hits.append(hit)
        self._skip = 0
        return None

    def _live_hits(self) -> Iterator[Hit]:
        for rows in reversed(self._live):
            entry = rows.tables["entries"][0]
            if entry["kind"] == "message" and entry.get("frame"):
                yield from self._hits(rows.run, entry["entry"], entry["arrived_ms"], entry["frame"])

    def _hits(self, run: tuple[str, str, int], entry: int, arrived_ms: int, frame: str) -> list[Hit]:
        name = self._name_of(run)
        if name == "":
            return []
        return [
            {"run": name, "seq": entry, "event": event, "excerpt": found, "arrived_ms": arrived_ms}
            for event, found in hits_of(frame, self._words)
        ]

    def _name_of(self, run: tuple[str, str, int]) -> str:
        """The name of the run in addresses; empty if the run was deleted."""
        known = self._names.get(run)
        if known is None:
            sql = "SELECT name FROM runs WHERE tenant = ? AND archive = ? AND run_number = ?"
            found = self._index.cursor().execute(sql, list(run)).fetchall()
            known = self._names[run] = found[0][0] if found else ""
        return known

    def _hits_in(self, piece: list[File]) -> Iterator[Hit]:
        """Newest first. The order is the same for the same files, so a cursor can skip what was shown."""
        assert self._index.files is not None
        db = duckdb.connect(config={"threads": 1, "memory_limit": "512MB"})
        try:
            db.register("arrived", read(self._index.files, "entries", [file.path for file in piece], COLUMNS))
            sql = (
                "SELECT tenant, coalesce(origin_archive, archive), coalesce(origin_run_number, run_number), entry,"
                " arrived_ms, frame FROM arrived WHERE kind = 'message'"
                + HAS_WORD * len(self._words)
                + " ORDER BY arrived_ms DESC, archive, entry"
            )
            candidates = db.execute(sql, [pattern for word in self._words for pattern in _likes(word)])
            while rows := candidates.fetchmany(FETCH):
                for tenant, archive, run_number, *rest in rows:
                    yield from self._hits((tenant, archive, run_number), *rest)
        except FileNotFoundError:
            return  # compacted or deleted meanwhile
        finally:
            db.close()


def _cursor_of(file: File) -> str:
    return "/".join(place_of_file(file))


def _pieces(files: Sequence[File]) -> Iterator[list[File]]:
    piece: list[File] = []
    size = 0
    for file in files:
        if piece and (len(piece) >= MAX_PIECE_FILES or size + file.size > MAX_PIECE_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(file)
        size += file.size
    if piece:
        yield piece
