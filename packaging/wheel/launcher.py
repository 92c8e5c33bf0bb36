"""The commands `digd` and `digctl` of the binary wheel: they replace this process by the bundled program."""

import os
import sys
from pathlib import Path
from typing import NoReturn

# OpenSSL of Debian looks for certificates in /usr/lib/ssl. Other systems keep them here.
CERTIFICATE_FILES = ("/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem")


def _run(name: str) -> NoReturn:
    program = Path(__file__).parent / "_programs" / "bin" / name
    environment = dict(os.environ)
    environment.setdefault("DIGD_PYTHON", sys.executable)  # `digctl demo --attach` runs its example with it
    if "SSL_CERT_FILE" not in environment and not Path("/usr/lib/ssl/certs").exists():
        for file in CERTIFICATE_FILES:
            if Path(file).exists():
                environment["SSL_CERT_FILE"] = file
                break
    os.execve(program, [name, *sys.argv[1:]], environment)


def digd() -> NoReturn:
    _run("digd")


def digctl() -> NoReturn:
    _run("digctl")
