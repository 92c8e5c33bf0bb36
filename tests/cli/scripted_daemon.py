"""A daemon for tests: judges nothing, but follows the ingest protocol (docs/protocol.md), and misbehaves on request."""

import asyncio
import json
import socket
import threading

import websockets
from websockets.asyncio.server import serve, unix_serve


class ScriptedDaemon:
    """Runs in a thread of its own; `with ScriptedDaemon() as daemon: daemon.url`.

    answers     {seq: [frames]}, sent for a message instead of the default: verdicts for held messages, then ack
    drop_after  {connection number: seq}: close that connection after receiving this seq, before answering it
    restart     on a drop, forget unacked messages, as a killed daemon does
    durable     on a drop, treat all received messages as durable: their answers are never sent again
    ack_every   ack only after this many messages, or when no message arrives
    known       the last acked seq when a session begins
    deaf        answer nothing, not even hello
    refuse      an error frame that answers every hello
    """

    def __init__(
        self,
        path=None,
        answers=None,
        drop_after=None,
        restart=False,
        durable=False,
        ack_every=1,
        credits=1024,
        known=0,
        deaf=False,
        refuse=None,
    ):
        self.path, self.answers, self.drop_after = path, answers or {}, drop_after or {}
        self.restart, self.durable, self.ack_every, self.credits = restart, durable, ack_every, credits
        self.deaf, self.refuse = deaf, refuse
        self.taken, self.acked, self.replies = {}, {}, {}
        self.known = known
        self.received = []  # (session, message) in the order received
        self.hellos = []
        self.requests = []  # (target, headers)
        self.connections = 0
        self.max_unacked = 0

    def __enter__(self):
        self.ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.main()))
        self.thread.start()
        assert self.ready.wait(10)
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.stop.set_result, None)
        self.thread.join()

    async def main(self):
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
        options = {"subprotocols": ["digd.v1"], "max_size": None}
        if self.path:
            server = await unix_serve(self.serve, self.path, **options)
            self.url = f"unix:{self.path}"
        else:
            server = await serve(self.serve, "127.0.0.1", 0, **options)
            self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self.ready.set()
        async with server:
            await self.stop

    @staticmethod
    def is_held(message):
        reroutes = [r for r in message.get("reactions", {}).values() if isinstance(r, dict)]
        return message["type"] == "event" or bool(message.get("outputs")) or bool(reroutes)

    def reply_to(self, message):
        seq = message["seq"]
        if seq in self.answers:
            return self.answers[seq]
        if not self.is_held(message):
            return []
        events = [message["event"]] if message["type"] == "event" else message.get("outputs", [])
        return [{"type": "verdicts", "seq": seq, "verdicts": [{"event": e["id"], "action": "deliver"} for e in events]}]

    async def serve(self, ws):
        self.connections += 1
        number = self.connections
        self.requests.append((ws.request.path, dict(ws.request.headers)))
        hello = json.loads(await ws.recv())
        self.hellos.append(hello)
        if self.refuse:
            await ws.send(json.dumps(self.refuse))
            return await ws.close(4400, self.refuse["code"])
        s = hello.get("session", "main")
        taken = self.taken.setdefault(s, self.known)
        self.acked.setdefault(s, self.known)
        if self.deaf:
            return await ws.wait_closed()
        await ws.send(
            json.dumps(
                {
                    "type": "welcome",
                    "protocol": 1,
                    "run": hello["run"],
                    "session": s,
                    "acked_seq": self.acked[s],
                    "mode": "enforce",
                    "rules": {},
                    "limits": {},
                    "verdict_deadline_ms": 250,
                    "credits": self.credits,
                }
            )
        )
        try:
            while True:
                try:
                    frame = await asyncio.wait_for(ws.recv(), 0.05)
                except asyncio.TimeoutError:
                    await self.ack(ws, s)
                    continue
                message = json.loads(frame)
                seq = message["seq"]
                taken = self.taken[s]
                if seq <= taken:
                    for reply in self.replies.get((s, seq), []) if seq > self.acked[s] else []:
                        await ws.send(json.dumps(reply))
                    await ws.send(json.dumps({"type": "ack", "seq": self.acked[s]}))
                    continue
                if seq > taken + 1:
                    await ws.send(
                        json.dumps(
                            {
                                "type": "error",
                                "code": "bad_seq",
                                "seq": taken + 1,
                                "field": "seq",
                                "message": f"expected seq {taken + 1}",
                                "fatal": False,
                            }
                        )
                    )
                    continue
                self.taken[s] = seq
                self.max_unacked = max(self.max_unacked, seq - self.acked[s])
                self.received.append((s, message))
                self.replies[s, seq] = self.reply_to(message)
                if self.drop_after.get(number) == seq:
                    if self.restart:
                        self.taken[s] = self.acked[s]
                    if self.durable:
                        self.acked[s] = self.taken[s]
                    ws.transport.abort()
                    return
                for reply in self.replies[s, seq]:
                    await ws.send(json.dumps(reply))
                if seq - self.acked[s] >= self.ack_every:
                    await self.ack(ws, s)
        except websockets.ConnectionClosed:
            pass

    async def ack(self, ws, s):
        if self.acked[s] < self.taken[s]:
            self.acked[s] = self.taken[s]
            await ws.send(json.dumps({"type": "ack", "seq": self.acked[s]}))


def unused_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
