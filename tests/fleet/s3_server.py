"""A server that speaks S3, for tests: moto's. S3_SERVER_ENDPOINT names another that runs already (scripts/test-s3)."""

import os
import socket
import subprocess
import sys
import urllib.request
import uuid

from live import wait_until


class S3Server:
    def __init__(self, folder):
        self.folder = folder
        self.endpoint = os.environ.get("S3_SERVER_ENDPOINT")
        self.process = None
        self.environment = {
            "AWS_ACCESS_KEY_ID": os.environ.get("S3_SERVER_KEY", "test"),
            "AWS_SECRET_ACCESS_KEY": os.environ.get("S3_SERVER_SECRET", "test"),
            "AWS_REGION": "us-east-1",
        }

    def __enter__(self):
        if self.endpoint is None:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            self.endpoint = f"http://127.0.0.1:{port}"
            log = open(self.folder / "log", "ab")
            self.process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                stdout=log,
                stderr=log,
                env={**os.environ, "MOTO_ALLOW_NONEXISTENT_REGION": "true"},
            )
            wait_until(self.answers, "the S3 server", within=60)
        return self

    def answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            urllib.request.urlopen(self.endpoint, timeout=1).close()
            return True
        except OSError:
            return False

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()

    def url_of(self, name):
        return f"s3://{name}/fleet?endpoint={self.endpoint}"

    def make_bucket(self, name=None):
        import boto3

        name = name or f"b-{uuid.uuid4().hex[:12]}"
        client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
        )
        client.create_bucket(Bucket=name)
        return self.url_of(name)
