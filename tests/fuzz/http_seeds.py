"""Seeds of the fuzz targets that read HTTP: the target, the name of the file and its content."""


def http_targets():
    """Paths and hosts of the target `http_target`."""
    hosts = (
        "127.0.0.1:7344\nlocalhost\n[::1]:7344\nevil.example\n127.0.0.1.evil.example\nhttp://evil@127.0.0.1:7344\nnull\n"
        "digd.v1, bearer.x"
    )
    for name, target in {
        "plain": "/v1/runs",
        "name": "/v1/runs/a%2Fb%00/graph?format=dot",
        "dots": "/../..//%2e%2e/",
        "broken": "/v1/%zz?a=%",
        "many": "/" + "a/" * 40 + "?" + "x=1&" * 40,
        "absolute": "http://evil/v1/runs",
        "star": "*",
        "edge": "/v1/feed?since=18446744073709551616&limit=-1&cursor=9223372036854775808",
        "empty": "",
    }.items():
        yield "http_target", name, target + "\n" + hosts


def http_requests():
    """Whole requests for the target `routes`."""
    head = "\r\nHost: localhost:7344\r\n"
    upgrade = (
        head + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: "
    )
    for i, target in enumerate(
        [
            "/",
            "/healthz",
            "/readyz",
            "/metrics",
            "/v1/runs?limit=5&cursor=9",
            "/v1/runs?limit=-1",
            "/v1/fleet?since=0&by=label:team",
            "/v1/fleet/runs?by=host&value=h1&state=failure&find=a%20b&limit=5&cursor=9",
            "/v1/search?q=zebra%20%22&run=r1&limit=5&cursor=9",
            "/v1/runs/r1/entries/7",
            "/v1/runs/r1/attribution",
            "/v1/mode",
            "/v1/runs/a%2Fb%00%ff/graph?format=dot",
            "/v1/runs/" + "x" * 300,
            "/v1/runs/..%2f../detections",
            "/v1/webhooks/w/dead?cursor=18446744073709551616",
            "//",
            "*",
            "http://evil/healthz",
            "/%zz",
        ]
    ):
        yield "routes", f"get-{i}", f"GET {target} HTTP/1.1{head}\r\n"
    for run in ("r1", "", "%00%0d%0a", "y" * 257):
        yield "routes", f"ingest-{len(run)}", f"GET /v1/ingest?run={run} HTTP/1.1{upgrade}digd.v1, x\r\n\r\n"
    yield "routes", "feed", f"GET /v1/feed?since=-1&payloads=2 HTTP/1.1{upgrade}digd.feed.v1, bearer.x\r\n\r\n"
    for i, body in enumerate(['{"mode":"observe"}', '{"mode":5}', "[" * 900, "\xff", ""]):
        yield "routes", f"mode-{i}", f"PUT /v1/mode HTTP/1.1{head}Content-Length: {len(body)}\r\n\r\n{body}"
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_runs","arguments":{"limit":2}}}'
    yield "routes", "mcp", f"POST /mcp HTTP/1.1{head}Content-Length: {len(body)}\r\n\r\n{body}"
    yield "routes", "delete", f"DELETE /v1/runs/r1 HTTP/1.1{head}Authorization: Bearer x\r\n\r\n"
    yield "routes", "stranger", "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\n\r\n"
    yield "routes", "no-http", b"\x16\x03\x01\x00\xa5\x01"
