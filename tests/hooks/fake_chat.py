"""The scripted model of fake_model.py behind OpenAI's Chat Completions API, for opencode."""

import json
from http.server import BaseHTTPRequestHandler

from fake_model import PART, Call, Model

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def part_of(messages: list[dict]) -> str:
    """Returns the part that the conversation's first prompt names."""
    for message in messages:
        if message["role"] == "user" and (named := PART.findall(json.dumps(message["content"]))):
            return named[0]
    return ""


def delta_of(reply: list[str | Call], identity: str) -> dict:
    """Returns a reply as the delta of one chunk."""
    calls = [
        {
            "index": index,
            "id": f"call_{identity}_{index}",
            "type": "function",
            "function": {"name": block.tool, "arguments": json.dumps(block.input)},
        }
        for index, block in enumerate(reply)
        if isinstance(block, Call)
    ]
    text = "".join(block for block in reply if isinstance(block, str))
    return {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})


class ChatHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        messages = body.get("messages", [])
        with self.model.lock:
            self.model.requests.append(body)
        part = part_of(messages) if body.get("tools") else ""  # without tools: a request for a title
        script = self.model.parts.get(part, [["ok"]])
        turn = sum(message["role"] == "assistant" for message in messages)
        delta = delta_of(script[min(turn, len(script) - 1)], f"{part}_{turn}")
        chunk = {"id": "chat", "object": "chat.completion.chunk", "created": 1, "model": body.get("model", "fake")}
        end = "tool_calls" if "tool_calls" in delta else "stop"
        chunks = [
            {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": USAGE},
        ]
        frames = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(frames.encode())))
        self.end_headers()
        self.wfile.write(frames.encode())
