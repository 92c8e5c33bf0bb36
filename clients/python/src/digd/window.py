"""The messages that the daemon has not acknowledged: numbered, bounded, and sent again after a reconnect.

No I/O, no clock. A message gets its number when it is first sent. So messages that wait for the first connection can
continue from the number that the daemon names.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from .messages import Message, message


@dataclass
class Kept:
    """A message in the window. `seq` is 0 until it is sent; `as_is` marks it as delivered before it was sent."""

    message: Message
    seq: int = 0
    as_is: bool = False
    waiting: Any = None  # the ticket that waits for the answer


class Window:
    """At most `credits` messages and `max_bytes` of them. Two places are reserved for a `gap` and for `run_ended`.

    Beyond these bounds messages are dropped and counted. A `gap` reports their number as soon as there is room.
    """

    RESERVED = 2

    def __init__(self, credits: int = 1024, max_bytes: int = 16 << 20) -> None:
        self.credits = credits
        self.max_bytes = max_bytes
        self.acked = 0
        self.next_seq = 1
        self.bytes = 0
        self.missing = 0  # dropped, and not reported yet
        self.dropped = 0  # ever
        self._has_resumed = False  # whether a daemon has named its number
        self._sent: deque[Kept] = deque()
        self._unsent: deque[Kept] = deque()

    def __len__(self) -> int:
        return len(self._sent) + len(self._unsent)

    def add(self, report: Message, as_is: bool = False) -> Kept | None:
        """Keeps a message, or drops it and returns None. Only `last` messages may use the reserved places."""
        self._report_gap(report.last)
        if not report.last and not self._has_room(len(report.rest)):
            self.missing += 1
            self.dropped += 1
            return None
        kept = Kept(report, as_is=as_is)
        self._unsent.append(kept)
        self.bytes += len(report.rest)
        return kept

    def ack(self, seq: int) -> None:
        """Every message up to `seq` is durable."""
        while self._sent and self._sent[0].seq <= seq:
            self.bytes -= len(self._sent.popleft().message.rest)
        self.acked = max(self.acked, min(seq, self.next_seq - 1))
        self._report_gap()

    def resume(self, acked_seq: int, credits: int, frame_limit_bytes: int) -> None:
        """After a daemon's welcome, everything after `acked_seq` is sent again over this connection.

        A daemon that names a lower number than it has acknowledged has lost its data: then the rest is numbered anew, after a
        `gap`. A message over `frame_limit_bytes`, at which the daemon would close the connection, becomes a `gap` too.
        """
        self.credits = credits
        self._unsent.extendleft(reversed(self._sent))
        self._sent.clear()
        if self._has_resumed and acked_seq < self.acked:
            for kept in self._unsent:
                kept.seq = 0
            forgotten = _gap(self.acked - acked_seq)
            self._unsent.appendleft(Kept(forgotten))
            self.bytes += len(forgotten.rest)
            self.next_seq = acked_seq + 1
        while self._unsent and 0 < self._unsent[0].seq <= acked_seq:
            self.bytes -= len(self._unsent.popleft().message.rest)
        self._has_resumed = True
        self.acked = acked_seq
        self.next_seq = max(self.next_seq, acked_seq + 1)
        for kept in self._unsent:
            if len(kept.message.rest) > frame_limit_bytes:
                self.bytes -= len(kept.message.rest)
                kept.message = _gap(1)
                self.bytes += len(kept.message.rest)
        self._report_gap()

    def take(self) -> list[Kept]:
        """Takes the messages that may be sent now, in order: at most `credits` ahead of the last ack."""
        taken: list[Kept] = []
        while self._unsent:
            kept = self._unsent[0]
            seq = kept.seq or self.next_seq
            if seq > self.acked + self.credits:
                break
            kept.seq = seq
            self.next_seq = max(self.next_seq, seq + 1)
            self._sent.append(self._unsent.popleft())
            taken.append(kept)
        return taken

    def _has_room(self, size: int) -> bool:
        return len(self) < max(1, self.credits - self.RESERVED) and self.bytes + size <= self.max_bytes

    def _report_gap(self, last: bool = False) -> None:
        if self.missing and (last or self._has_room(64)):
            gap = _gap(self.missing)
            self._unsent.append(Kept(gap))
            self.bytes += len(gap.rest)
            self.missing = 0


def _gap(dropped: int) -> Message:
    return message("gap", dropped=dropped)
