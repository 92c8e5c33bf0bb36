"""Spans of the fuzz corpus (make_corpus.py), as JSON objects and as protobuf."""


def otlp_span(id, parent, agent, start, end, links=(), error=None):
    s = {
        "traceId": "1" * 32,
        "spanId": id * 16,
        "parentSpanId": parent * 16,
        "name": "invoke_agent " + agent,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": [
            {"key": k, "value": {"stringValue": v}}
            for k, v in (("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", agent))
        ],
        "links": [{"traceId": "1" * 32, "spanId": to * 16} for to in links],
    }
    return {**s, "status": {"code": 2, "message": error}} if error else s


def otlp_protobuf(spans):
    def field(number, value):
        size, length = len(value), b""
        while size > 127:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + value

    def encoded(s):
        out = (
            field(1, bytes.fromhex(s["traceId"])) + field(2, bytes.fromhex(s["spanId"])) + field(5, s["name"].encode())
        )
        out += field(4, bytes.fromhex(s["parentSpanId"]))
        for number, key in ((7, "startTimeUnixNano"), (8, "endTimeUnixNano")):
            out += bytes([number << 3 | 1]) + int(s[key]).to_bytes(8, "little")
        for a in s["attributes"]:
            out += field(9, field(1, a["key"].encode()) + field(2, field(1, a["value"]["stringValue"].encode())))
        return out

    return field(1, field(2, b"".join(field(2, encoded(s)) for s in spans)))
