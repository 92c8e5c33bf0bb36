"""The scripted model of fake_model.py behind OpenAI's Responses API, for Codex."""

import json
import re
from http.server import BaseHTTPRequestHandler

from fake_model import PART, Call, Model

AGENT_ID = re.compile(r'agent_id\\*"\s*:\s*\\*"([0-9a-f-]+)')
AGENTS = "$agents"  # in a call's input: the ids of the agents that the conversation has started


def part_of(items: list[dict]) -> str:
    """Returns the part that the conversation's last prompt names; a subagent may begin with its parent's."""
    named = PART.findall(json.dumps([item for item in items if item.get("role") == "user"]))
    return named[-1] if named else ""


def turn_of(items: list[dict]) -> int:
    """Returns how many replies the conversation has. A call's id says which reply it is of."""
    calls = {item["call_id"].split("_")[-2] for item in items if item.get("type") == "function_call"}
    texts = [item for item in items if item.get("type") == "message" and item.get("role") == "assistant"]
    return len(calls) + len(texts)


def output_items(reply: list[str | Call], part: str, turn: int, agents: list[str]) -> list[dict]:
    """Returns a reply as output items."""
    made = []
    for index, block in enumerate(reply):
        if isinstance(block, str):
            content = [{"type": "output_text", "text": block, "annotations": []}]
            item = {"type": "message", "role": "assistant", "id": f"msg_{turn}_{index}", "content": content}
        else:
            group, _, tool = block.tool.rpartition("/")
            arguments = json.dumps(block.input).replace(json.dumps(AGENTS), json.dumps(agents))
            identity = f"{part}_{turn}_{index}"
            item = {"type": "function_call", "id": f"fc_{identity}", "call_id": f"call_{identity}", "name": tool}
            item |= {"arguments": arguments} | ({"namespace": group} if group else {})
        made.append({**item, "status": "completed"})
    return made


class ResponsesHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.answer("application/json", b'{"data":[],"models":[]}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "/responses" not in self.path:
            return self.answer("application/json", b"{}")
        items = body.get("input", [])
        part, turn = part_of(items), turn_of(items)
        with self.model.lock:
            self.model.requests.append(body)
        script = self.model.parts.get(part, [["ok"]])
        agents = AGENT_ID.findall(json.dumps(items))
        output = output_items(script[min(turn, len(script) - 1)], part, turn, agents)
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        response = {"id": f"resp_{part}_{turn}", "object": "response", "status": "completed", "output": output}
        events = [("response.created", {"response": {**response, "output": [], "status": "in_progress"}})]
        for index, item in enumerate(output):
            events.append(("response.output_item.added", {"output_index": index, "item": item}))
            events.append(("response.output_item.done", {"output_index": index, "item": item}))
        events.append(("response.completed", {"response": {**response, "usage": usage}}))
        frames = [f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events]
        self.answer("text/event-stream", "".join(frames).encode())

    def answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
