"""An OpenAI-compatible endpoint on loopback that answers from a script and keeps the requests."""

import json
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(text, finish="stop", tokens=(100, 10)):
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]},
    }


def verdict(agent, step, **more):
    return completion(json.dumps({"agent": agent, "step": step, "reason": "so it is", **more}))


class Endpoint:
    """`reply(request)` returns a completion, or (status, headers, body) with a body of bytes."""

    def __init__(self, reply, certificate=None):
        self.requests = []
        self.keys = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(request)
                outer.keys.append(self.headers["Authorization"])
                answer = reply(request)
                status, headers, body = answer if isinstance(answer, tuple) else (200, {}, json.dumps(answer).encode())
                self.send_response(status)
                for name, value in {"Content-Length": len(body), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        self.thread = threading.Thread(target=self.server.serve_forever)

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server.server_port}/v1"

    @property
    def prompts(self):
        return [r["messages"][1]["content"] for r in self.requests]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def make_certificate(folder):
    """A self-signed certificate for 127.0.0.1, and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            key,
            "-out",
            certificate,
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key
