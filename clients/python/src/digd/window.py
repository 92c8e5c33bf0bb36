"""What was said and is not acked yet: numbered, bounded, said again after a reconnect.

No I/O, no clock. A message gets its number when it is first sent, so that what waits for the first connection can go on
from wherever the daemon says.
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
    waiting: Any = None  # who waits for the answer


class Window:
    """Bounds: `credits` messages and `max_bytes` of them. Two places are kept back, for a `gap` and for `run_ended`.

    Beyond the bounds messages are dropped and counted; as soon as there is room a `gap` says how many.
    """

    RESERVED = 2

    def __init__(self, credits: int = 1024, max_bytes: int = 16 << 20) -> None:
        self.credits = credits
        self.max_bytes = max_bytes
        self.acked = 0
        self.next_seq = 1
        self.bytes = 0
        self.missing = 0  # dropped and not confessed yet
        self.dropped = 0  # ever
        self._met = False  # whether a daemon has said where it stands
        self._sent: deque[Kept] = deque()
        self._unsent: deque[Kept] = deque()

    def __len__(self) -> int:
        return len(self._sent) + len(self._unsent)

    def add(self, said: Message, as_is: bool = False) -> Kept | None:
        """Keeps a message, or drops it and returns None. Only `last` messages may use the reserved places."""
        self._confess(said.last)
        if not said.last and not self._room(len(said.rest)):
            self.missing += 1
            self.dropped += 1
            return None
        kept = Kept(said, as_is=as_is)
        self._unsent.append(kept)
        self.bytes += len(said.rest)
        return kept

    def ack(self, seq: int) -> None:
        """All up to `seq` is durable."""
        while self._sent and self._sent[0].seq <= seq:
            self.bytes -= len(self._sent.popleft().message.rest)
        self.acked = max(self.acked, min(seq, self.next_seq - 1))
        self._confess()

    def resume(self, acked_seq: int, credits: int, frame_limit_bytes: int) -> None:
        """A daemon's welcome: everything after `acked_seq` is to be sent again, over this connection.

        A daemon that knows less than it has acked before has lost its data: then the rest is numbered anew from where it
        stands, behind a `gap`. A message that would make it close the connection (over `frame_limit_bytes`) becomes a gap.
        """
        self.credits = credits
        self._unsent.extendleft(reversed(self._sent))
        self._sent.clear()
        if self._met and acked_seq < self.acked:
            for kept in self._unsent:
                kept.seq = 0
            forgotten = _gap(self.acked - acked_seq)
            self._unsent.appendleft(Kept(forgotten))
            self.bytes += len(forgotten.rest)
            self.next_seq = acked_seq + 1
        while self._unsent and 0 < self._unsent[0].seq <= acked_seq:
            self.bytes -= len(self._unsent.popleft().message.rest)
        self._met = True
        self.acked = acked_seq
        self.next_seq = max(self.next_seq, acked_seq + 1)
        for kept in self._unsent:
            if len(kept.message.rest) > frame_limit_bytes:
                self.bytes -= len(kept.message.rest)
                kept.message = _gap(1)
                self.bytes += len(kept.message.rest)
        self._confess()

    def take(self) -> list[Kept]:
        """What may be sent now, in order, and counts as sent from now on: no more than `credits` ahead of the last ack."""
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

    def _room(self, size: int) -> bool:
        return len(self) < max(1, self.credits - self.RESERVED) and self.bytes + size <= self.max_bytes

    def _confess(self, last: bool = False) -> None:
        if self.missing and (last or self._room(64)):
            said = _gap(self.missing)
            self._unsent.append(Kept(said))
            self.bytes += len(said.rest)
            self.missing = 0


def _gap(dropped: int) -> Message:
    return message("gap", dropped=dropped)
