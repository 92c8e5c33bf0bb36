"""The scripted model of fake_model.py behind the Gemini API, for Gemini CLI."""

import json
from http.server import BaseHTTPRequestHandler

from fake_model import PART, Call, Model

USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}


def texts_of(content: dict) -> str:
    return json.dumps([part["text"] for part in content.get("parts", []) if "text" in part])


def part_of(contents: list[dict]) -> str:
    """Returns the part that the conversation's first prompt names."""
    for content in contents:
        if content.get("role") == "user" and (named := PART.findall(texts_of(content))):
            return named[0]
    return ""


def parts_of(reply: list[str | Call]) -> list[dict]:
    """Returns a reply as the parts of a content."""
    return [
        {"text": block} if isinstance(block, str) else {"functionCall": {"name": block.tool, "args": block.input}}
        for block in reply
    ]


class GeminiHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.answer("application/json", {"models": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "countTokens" in self.path:
            return self.answer("application/json", {"totalTokens": 100})
        if "enerateContent" not in self.path:
            return self.answer("application/json", {})
        contents = body.get("contents", [])
        with self.model.lock:
            self.model.requests.append(body)
        script = self.model.parts.get(part_of(contents), [["ok"]])
        turn = sum(content.get("role") == "model" for content in contents)
        content = {"role": "model", "parts": parts_of(script[min(turn, len(script) - 1)])}
        response = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": USAGE}
        if "streamGenerateContent" in self.path:
            return self.answer("text/event-stream", response)
        return self.answer("application/json", response)

    def answer(self, kind: str, body: dict) -> None:
        text = json.dumps(body)
        frame = (f"data: {text}\r\n\r\n" if kind == "text/event-stream" else text).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(frame)))
        self.end_headers()
        self.wfile.write(frame)
