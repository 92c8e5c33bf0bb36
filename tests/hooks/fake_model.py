"""A model endpoint on loopback that answers from a script, so that coding agents run without a network.

A conversation plays the part that its first user message names as [[part:NAME]]. Its n-th reply is the n-th of the
part's script; after the last, the last is repeated. A reply is a list of blocks: a text, a call of a tool, the number
of tokens that the prompt took, or another part that must have come so far. The part "NAME-summary" answers the request
to summarize the conversation.
"""

import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PART = re.compile(r"\[\[part:([a-z0-9_-]+)\]\]")
SUMMARIZE = "create a detailed summary of the conversation"  # how Claude Code asks


@dataclass
class Call:
    """A reply's block that calls a tool."""

    tool: str
    input: dict


@dataclass
class Tokens:
    """How many tokens a reply says that its prompt took: near the model's limit, the program compacts."""

    input: int


@dataclass
class After:
    """The reply waits until this part has had as many replies and has done what they say."""

    part: str
    replies: int


Block = str | Call | Tokens | After


@dataclass
class Model:
    """The script, and what was asked of it."""

    parts: dict[str, list[list[Block]]]
    requests: list[dict] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, body: dict) -> list[Block]:
        """Returns the next reply of the conversation's part."""
        with self.lock:
            self.requests.append(body)
        name = part_of(body)
        if SUMMARIZE in json.dumps(body.get("messages", [])[-1:]):
            name += "-summary"
        if name not in self.parts:
            return ["ok"]
        script = self.parts[name]
        reply = script[min(replies_in(body), len(script) - 1)]
        for block in reply:
            if isinstance(block, After):
                self.wait_for(block)
        return reply

    def wait_for(self, other: After) -> None:
        """Waits for another part, half a minute at most."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if any(replies_in(request) >= other.replies for request in self.seen_by(other.part)):
                return
            time.sleep(0.02)

    def seen_by(self, name: str) -> list[dict]:
        """Returns the requests of a part's conversations."""
        with self.lock:
            return [request for request in self.requests if part_of(request) == name]


def replies_in(body: dict) -> int:
    """Returns how many replies the conversation has had."""
    return sum(message["role"] == "assistant" for message in body.get("messages", []))


def part_of(body: dict) -> str:
    """Returns the part that the conversation's first user message names."""
    for message in body.get("messages", []):
        if message["role"] == "user":
            named = PART.findall(json.dumps(message["content"]))
            if named:
                return named[0]
    return ""


def blocks(reply: list[Block], number: int) -> list[dict]:
    """Returns a reply as content blocks of the Messages API."""
    made = []
    for index, block in enumerate(reply):
        if isinstance(block, str):
            made.append({"type": "text", "text": block})
        elif isinstance(block, Call):
            identity = f"toolu_{number:04d}_{index}"
            made.append({"type": "tool_use", "id": identity, "name": block.tool, "input": block.input})
    return made


def stream_of(message: dict) -> list[tuple[str, dict]]:
    """Returns a message as the server-sent events of the Messages API."""
    events = [("message_start", {"message": {**message, "content": [], "stop_reason": None}})]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            ("content_block_start", {"index": index, "content_block": empty}),
            ("content_block_delta", {"index": index, "delta": delta}),
            ("content_block_stop", {"index": index}),
        ]
    ending = {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": message["usage"]}
    return [*events, ("message_delta", ending), ("message_stop", {})]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.answer("application/json", b"{}")

    def do_HEAD(self) -> None:
        self.answer("application/json", b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            return self.answer("application/json", b'{"input_tokens":100}')
        if "/messages" not in self.path:
            return self.answer("application/json", b"{}")
        reply = self.model.reply(body)
        content = blocks(reply, len(self.model.requests))
        tokens = next((block.input for block in reply if isinstance(block, Tokens)), 100)
        message = {
            "id": f"msg_{len(self.model.requests):04d}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "fake"),
            "content": content,
            "stop_reason": "tool_use" if any(isinstance(block, Call) for block in reply) else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": tokens, "output_tokens": 10},
        }
        if not body.get("stream"):
            return self.answer("application/json", json.dumps(message).encode())
        frames = [
            f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in stream_of(message)
        ]
        return self.answer("text/event-stream", "".join(frames).encode())

    def answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(model: Model, api: type[BaseHTTPRequestHandler] = Handler) -> ThreadingHTTPServer:
    """Serves the model on a free port of loopback; the caller shuts the server down."""
    handler = type("ModelHandler", (api,), {"model": model})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
