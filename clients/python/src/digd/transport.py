"""One WebSocket connection on asyncio. It writes frames in batches and joins fragments.

The `websockets` library's protocol without I/O does the WebSocket part. The library's own asyncio connection writes
once per frame; this one writes once per batch.
"""

from __future__ import annotations

import asyncio
import socket
import ssl as tls
from collections.abc import Callable, Iterable
from urllib.parse import quote

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from .lookup import addresses_of, is_address
from .options import Address
from .threads import call_in_thread

MAX_FRAME_BYTES = 64 << 20  # of a frame from the daemon; verdicts with evidence can be large


class Refused(Exception):
    """The daemon refuses this client. Retrying does not help."""


def ingest_uri(address: Address, run: str) -> str:
    """The address of `/v1/ingest` for a run."""
    return f"{address.origin}/v1/ingest?run={quote(run, safe='')}"


class Link(asyncio.Protocol):
    """A connection from its handshake to its end. Calls `on_frame` with each text and `on_lost` once, on the loop.

    `on_frame` is also called with empty bytes when the socket can take data again.
    """

    def __init__(
        self, uri: str, token: str | None, on_frame: Callable[[bytes], None], on_lost: Callable[[], None]
    ) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._has_room = True
        self._ws = ClientProtocol(parse_uri(uri), subprotocols=[Subprotocol("digd.v1")], max_size=MAX_FRAME_BYTES)
        self._token = token
        self._on_frame, self._on_lost = on_frame, on_lost
        self._parts: list[bytes] = []
        self._transport: asyncio.Transport | None = None

    @property
    def close_code(self) -> int | None:
        """The daemon's close code; None if it sent no close frame."""
        return self._ws.close_rcvd.code if self._ws.close_rcvd is not None else None

    @property
    def writable(self) -> bool:
        """Whether frames may be sent now: the socket has room and neither side is closing."""
        return self._has_room and self._ws.state is State.OPEN

    def send(self, frames: Iterable[bytes]) -> None:
        """Writes all frames at once."""
        for frame in frames:
            self._ws.send_text(frame)
        self._flush()

    async def close(self, within_s: float) -> None:
        """Sends a close frame, waits a bounded time for the answer, and aborts the connection."""
        if self._transport is None or self.lost.done():
            return
        try:
            if self.opened.done() and not self.opened.cancelled() and self.opened.exception() is None:
                if self._ws.state is State.OPEN:  # else the daemon is closing it, and `send_close` would raise
                    self._ws.send_close(1000)
                    self._flush()
                await asyncio.wait([self.lost], timeout=within_s)
        finally:  # also if this task is cancelled while it waits
            self._transport.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        request = self._ws.connect()
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        self._ws.send_request(request)
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._ws.receive_data(data)
        self._handle_events()

    def eof_received(self) -> None:
        self._ws.receive_eof()
        self._handle_events()

    def pause_writing(self) -> None:
        self._has_room = False

    def resume_writing(self) -> None:
        self._has_room = True
        self._on_frame(b"")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self._fail_handshake(exc or ConnectionError("closed during the handshake"))
        if not self.lost.done():
            self.lost.set_result(None)
        self._on_lost()

    # ---- internals

    def _handle_events(self) -> None:
        for event in self._ws.events_received():
            if isinstance(event, Response):
                self._finish_handshake()
            elif isinstance(event, Frame):
                self._add_fragment(event)
        if self._ws.handshake_exc is not None and not self.opened.done():
            self._finish_handshake()
        self._flush()
        if self._ws.close_expected() and self._transport is not None:
            self._transport.close()

    def _finish_handshake(self) -> None:
        error = self._ws.handshake_exc
        if self.opened.done():
            return
        if error is None:
            self.opened.set_result(None)
        elif isinstance(error, InvalidStatus) and error.response.status_code in (401, 403):
            self._fail_handshake(Refused(f"HTTP {error.response.status_code}"))
        else:
            self._fail_handshake(error)

    def _fail_handshake(self, error: BaseException) -> None:
        self.opened.set_exception(error)
        self.opened.exception()  # marks it as retrieved: the waiting task may have been cancelled

    def _add_fragment(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.CONT):
            return
        self._parts.append(bytes(frame.data))
        if frame.fin:
            whole, self._parts = b"".join(self._parts), []
            self._on_frame(whole)

    def _flush(self) -> None:
        data = self._ws.data_to_send()
        if self._transport is None or self._transport.is_closing():
            return
        joined = b"".join(data)
        if joined:
            self._transport.write(joined)
        if data and data[-1] == b"" and self._transport.can_write_eof():  # empty bytes mean half-close in `websockets`
            self._transport.write_eof()


async def connect(
    address: Address,
    run: str,
    token: str | None,
    within_s: float,
    on_frame: Callable[[bytes], None],
    on_lost: Callable[[], None],
    tls_context: tls.SSLContext | None = None,
) -> Link:
    """Opens a connection and completes the handshake. Raises OSError, TimeoutError, Refused or a `websockets` error."""
    uri = ingest_uri(address, run)
    loop = asyncio.get_running_loop()

    def make() -> Link:
        return Link(uri, token, on_frame, on_lost)

    async def open_() -> Link:
        if address.socket_path is not None:
            _, link = await loop.create_unix_connection(make, address.socket_path)
        else:
            secure = tls_context if address.tls else None
            if address.tls and secure is None:  # in a thread: reading all certificate authorities takes long
                secure = await call_in_thread(tls.create_default_context, "digd tls")
            transport, link = await _open_stream(make, address.host.strip("[]"), address.port, secure)
            raw = transport.get_extra_info("socket")
            if raw is not None:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            await asyncio.wait([link.opened])  # `await link.opened` would cancel the future together with this task
            link.opened.result()
        except BaseException:
            link.abort()
            raise
        return link

    return await _bounded(loop.create_task(open_(), name=f"digd connects to {address.origin}"), within_s)


async def _open_stream(
    make: Callable[[], Link], host: str, port: int, secure: tls.SSLContext | None
) -> tuple[asyncio.Transport, Link]:
    """Connects to an IP address, or to the first address of a name that accepts the connection."""
    loop = asyncio.get_running_loop()
    if is_address(host):
        return await loop.create_connection(make, host, port, ssl=secure)
    failures: list[OSError] = []
    for address in await addresses_of(host, port):
        try:
            server = host if secure is not None else None
            return await loop.create_connection(make, address, port, ssl=secure, server_hostname=server)
        except tls.SSLError:
            raise
        except OSError as error:
            failures.append(error)
    raise failures[0] if len(failures) == 1 else OSError("; ".join(map(str, failures)) or f"no address of {host!r}")


async def _bounded(opening: asyncio.Task[Link], within_s: float) -> Link:
    """Waits for the link. `asyncio.wait_for` of Python 3.11 can lose a cancellation, or an exception."""
    opening.add_done_callback(lambda task: task.cancelled() or task.exception())  # marks the exception as retrieved
    try:
        await asyncio.wait([opening], timeout=within_s)
        if opening.done():
            return opening.result()
        raise TimeoutError(f"no connection within {within_s:g} s")
    except asyncio.CancelledError:
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            opening.result().abort()
        raise
    finally:
        if not opening.done():
            opening.cancel()
            await asyncio.wait([opening])
