"""Answers a viewer's questions about a fleet: digd starts this program for `fleet.view` and asks it by lines.

A line of the input is a question: {"id": 7, "ask": "runs", "with": {"limit": "50"}}. A line of the output is
`answer ID STATUS JSON`, or belongs to the archive that digd writes: `row JSON` (docs/fleet.md, Messages), `commit`, and
`forget RUN_NUMBER`. The rows of a run come before the answer to `open`. The program ends when its input ends.
Bounds: digd limits the questions that wait (docs/fleet.md). There is one thread for each kind of question.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb

from . import page
from .index import FleetIndex
from .live_rows import LiveRows
from .opened import OpenedRuns
from .page import Given, Refused
from .places import Fleet
from .search import Search

REFRESH_SECONDS = 2.0
MIN_GAP_SECONDS = 0.2
"""Between two looks at the stream."""
PROGRESS_SECONDS = 5.0
"""Between two lines about files that are read."""


class View:
    def __init__(self, fleet: Fleet, folder: str, first: int, write: Callable[[str], None]) -> None:
        self._write_line = write
        self._writing = threading.Lock()
        self._news = threading.Event()
        self._stopping = False
        self._index = FleetIndex(fleet.root, folder)
        self._live = LiveRows(fleet, self._news.set) if fleet.servers else None
        self._opened = OpenedRuns(self._index, self._live, self._write, first)
        self._opening = threading.Lock()
        self._problem = ""
        self._is_complete = False
        self._collected = 0
        """What the stream's collectors had stored before the files were listed."""
        self._shows_progress = False
        self._next_progress = time.monotonic() + PROGRESS_SECONDS
        self._live_changes = -1
        self._list_seconds = self._index.files.list_seconds if self._index.files is not None else REFRESH_SECONDS
        self._next_look = 0.0
        """When to look for new files, in monotonic seconds."""
        self._next_take = 0.0
        """When to add up the rows of the stream again."""
        self._threads = {name: ThreadPoolExecutor(1, thread_name_prefix=name) for name in ("page", "search", "open")}

    def start(self) -> None:
        if self._live is not None:
            self._live.start()
        threading.Thread(target=self._refresh_forever, name="refresh", daemon=True).start()

    def stop(self) -> None:
        self._stopping = True
        self._news.set()
        for pool in self._threads.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def ask(self, question: dict[str, Any]) -> None:
        name, given = question["ask"], question.get("with") or {}
        work, thread = self._questions().get(name, (None, "page"))
        if work is None:
            return self._answer(question["id"], Refused(404, "not_found", f"no question {name}"))
        self._threads[thread].submit(self._reply, question["id"], work, given)

    # ---- answers

    def _questions(self) -> dict[str, tuple[Callable[[Given], Any], str]]:
        return {
            "fleet": (self._fleet, "page"),
            "runs": (lambda given: page.runs(self._index.cursor(), given), "page"),
            "search": (lambda given: Search(self._index, self._live_rows(), given).answer(), "search"),
            "open": (self._open, "open"),
            "close": (self._close, "open"),
        }

    def _reply(self, id_: int, work: Callable[[Given], Any], given: Given) -> None:
        try:
            self._answer(id_, work(given))
        except Refused as refused:
            self._answer(id_, refused)
        except (OSError, duckdb.Error) as error:
            self._answer(id_, Refused(503, "fleet_unreadable", str(error).partition("\n")[0]))
        except Exception as error:  # digd waits for an answer
            print(f"digd.fleet: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            self._answer(id_, Refused(500, "fleet_failed", f"{type(error).__name__}: {error}"))

    def _answer(self, id_: int, found: Any) -> None:
        status = 200
        if isinstance(found, Refused):
            status, found = found.status, {"error": {"code": found.code, "message": str(found)}}
        self._write(f"answer {id_} {status} {json.dumps(found, ensure_ascii=False, separators=(',', ':'))}")

    def _write(self, line: str) -> None:
        with self._writing:
            self._write_line(line)

    def _live_rows(self) -> list[Any]:
        return self._live.rows() if self._live is not None else []

    def _fleet(self, given: Given) -> dict[str, Any]:
        db = self._index.cursor()
        records = self._live.hosts() if self._live is not None else []
        files = {
            "read": self._index.read_files,
            "total": self._index.total_files,
            "left_out": self._index.left_out_files,
            "complete": self._is_complete,
            "problem": self._problem,
        }
        stream = self._live.state() if self._live is not None else None
        state = {"now_ms": page.now_ms(), "files": files, "stream": stream}
        return {**state, **page.overview(db, given), **page.hosts(db, records)}

    def _open(self, given: Given) -> dict[str, Any]:
        with self._opening:
            return {"number": self._opened.open(given.get("run", ""))}

    def _close(self, given: Given) -> dict[str, Any]:
        with self._opening:
            self._opened.close(given.get("run", ""))
        return {}

    # ---- the thread that looks for news

    def _refresh_forever(self) -> None:
        while not self._stopping:
            try:
                more = self._refresh()
                self._problem = ""
            except Exception as error:  # the files may be back later; the page shows the reason
                more = False
                problem = str(error) or type(error).__name__
                if problem != self._problem:
                    print(f"digd.fleet: {problem}; trying again", file=sys.stderr, flush=True)
                self._problem = problem
            if more:
                continue
            self._news.wait(REFRESH_SECONDS)
            self._news.clear()
            if not self._stopping:
                threading.Event().wait(MIN_GAP_SECONDS)

    def _refresh(self) -> bool:
        """Updates opened runs at every call. Updates the totals only so often that this takes a quarter of the time."""
        more = False
        if time.monotonic() >= self._next_look:
            more = self._look_for_files()
        if self._live is not None and time.monotonic() >= self._next_take:
            self._take_live(self._live)
        with self._opening:
            self._opened.update()
        return more

    def _look_for_files(self) -> bool:
        began = time.monotonic()
        live = self._live
        if self._index.needs_listing:
            self._collected = live.collected() if live is not None else 0
            self._index.list_files()
        if not self._is_complete:
            more = self._index.read_pieces(max_pieces=1)
        else:  # an entry leaves the stream's rows only when all that came with it is read
            more = self._index.read_pieces(adds_up=live is None)
        if live is not None:
            removed = live.remove_collected(self._index.known, 0 if more else self._collected)
            if removed or self._index.has_news:
                self._live_changes = -1
                self._next_take = 0.0
        self._show_progress(more)
        self._is_complete = self._is_complete or not more
        if not more:
            self._next_look = time.monotonic() + max(self._list_seconds, 3 * (time.monotonic() - began))
        elif not self._index.is_listed:  # a file disappeared while it was read
            self._next_look = time.monotonic() + REFRESH_SECONDS
        return more

    def _show_progress(self, more: bool) -> None:
        """Logs how many files were read, until all files of the first listing are. The page shows the same numbers."""
        is_due = time.monotonic() >= self._next_progress if more else self._shows_progress
        if self._is_complete or not is_due:
            return
        print(
            f"digd.fleet: read {self._index.read_files:,} of {self._index.total_files:,} files",
            file=sys.stderr,
            flush=True,
        )
        self._shows_progress = True
        self._next_progress = time.monotonic() + PROGRESS_SECONDS

    def _take_live(self, live: LiveRows) -> None:
        began = time.monotonic()
        changes = live.changes
        if changes != self._live_changes:
            self._live_changes = changes
            self._index.take_live(live.rows(), live.deleted())
            self._next_take = time.monotonic() + 3 * (time.monotonic() - began)


def serve(fleet: Fleet, folder: str, first: int) -> None:
    """Answers questions until standard input ends."""

    def write(line: str) -> None:
        sys.stdout.write(line + "\n")
        if not line.startswith("row "):
            sys.stdout.flush()

    view = View(fleet, folder, first, write)
    view.start()
    for line in sys.stdin:
        view.ask(json.loads(line))
    view.stop()
