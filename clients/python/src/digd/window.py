"""Unacknowledged messages: numbered, bounded, and sent again after a reconnect.

No I/O, no clock. A message gets its number when it is first sent. So messages queued before the first connection can
continue from the number that the daemon names.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from .messages import Message, message


@dataclass
class QueuedMessage:
    """A message in the window. `seq` is 0 until it is sent. `as_is`: its events were delivered before it was sent."""

    message: Message
    seq: int = 0
    as_is: bool = False
    ticket: Any = None  # the conversation's ticket that waits for the verdicts


class Window:
    """Holds at most `credits` messages and `max_bytes` bytes. Two places are reserved for a `gap` and for `run_ended`.

    Beyond these bounds messages are dropped and counted. A `gap` reports their number as soon as there is room.
    """

    RESERVED_PLACES = 2

    def __init__(self, credits: int = 1024, max_bytes: int = 16 << 20) -> None:
        self.credits = credits
        self.max_bytes = max_bytes
        self.acked = 0
        self.next_seq = 1
        self.bytes = 0
        self.unreported = 0  # dropped messages that no `gap` has reported yet
        self.dropped = 0  # all dropped messages
        self._is_resumed = False  # a daemon has named its `acked_seq`
        self._sent: deque[QueuedMessage] = deque()
        self._unsent: deque[QueuedMessage] = deque()

    def __len__(self) -> int:
        return len(self._sent) + len(self._unsent)

    def add(self, report: Message, as_is: bool = False) -> QueuedMessage | None:
        """Keeps a message, or drops it and returns None. Only `last` messages may use the reserved places."""
        self._report_gap(report.last)
        if not report.last and not self._has_room(len(report.rest)):
            self.unreported += 1
            self.dropped += 1
            return None
        queued = QueuedMessage(report, as_is=as_is)
        self._unsent.append(queued)
        self.bytes += len(report.rest)
        return queued

    def ack(self, seq: int) -> None:
        """Removes the messages up to `seq`: they are durable."""
        while self._sent and self._sent[0].seq <= seq:
            self.bytes -= len(self._sent.popleft().message.rest)
        self.acked = max(self.acked, min(seq, self.next_seq - 1))
        self._report_gap()

    def resume(self, acked_seq: int, credits: int, max_frame_bytes: int) -> None:
        """Call after a daemon's welcome: `take` then returns everything after `acked_seq` again.

        A daemon that names a lower number than it has acknowledged has lost its data. Then the other messages get new
        numbers, after a `gap`. A message over `max_frame_bytes` becomes a `gap` too: the daemon would close the
        connection.
        """
        self.credits = credits
        self._unsent.extendleft(reversed(self._sent))
        self._sent.clear()
        if self._is_resumed and acked_seq < self.acked:
            for queued in self._unsent:
                queued.seq = 0
            lost_gap = _gap(self.acked - acked_seq)
            self._unsent.appendleft(QueuedMessage(lost_gap))
            self.bytes += len(lost_gap.rest)
            self.next_seq = acked_seq + 1
        while self._unsent and 0 < self._unsent[0].seq <= acked_seq:
            self.bytes -= len(self._unsent.popleft().message.rest)
        self._is_resumed = True
        self.acked = acked_seq
        self.next_seq = max(self.next_seq, acked_seq + 1)
        for queued in self._unsent:
            if len(queued.message.rest) > max_frame_bytes:
                self.bytes -= len(queued.message.rest)
                queued.message = _gap(1)
                self.bytes += len(queued.message.rest)
        self._report_gap()

    def take(self) -> list[QueuedMessage]:
        """Returns the messages that may be sent now, in order: at most `credits` ahead of the last ack."""
        taken: list[QueuedMessage] = []
        while self._unsent:
            queued = self._unsent[0]
            seq = queued.seq or self.next_seq
            if seq > self.acked + self.credits:
                break
            queued.seq = seq
            self.next_seq = max(self.next_seq, seq + 1)
            self._sent.append(self._unsent.popleft())
            taken.append(queued)
        return taken

    def discard(self) -> None:
        """Frees all messages, because nothing is sent any more. They count as unreported, not as acked."""
        self.unreported += len(self)
        self._sent.clear()
        self._unsent.clear()
        self.bytes = 0

    def _has_room(self, size: int) -> bool:
        return len(self) < max(1, self.credits - self.RESERVED_PLACES) and self.bytes + size <= self.max_bytes

    def _report_gap(self, last: bool = False) -> None:
        if self.unreported and (last or self._has_room(64)):
            gap = _gap(self.unreported)
            self._unsent.append(QueuedMessage(gap))
            self.bytes += len(gap.rest)
            self.unreported = 0


def _gap(dropped: int) -> Message:
    return message("gap", dropped=dropped)
