#!/usr/bin/env python3
"""Builds the binary wheel: the Python client, with digd and digctl.

    packaging/wheel/build_wheel.py TREE OUTPUT_FOLDER      TREE: of packaging/portable_tree.py

pip builds the pure wheel of clients/python. This script adds the tree as digd/_programs, the launchers and their entry
points, and the licences. It then writes the wheel again, with the platform's tag and a RECORD. The result depends only
on the inputs and SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
from portable_tree import machine_of  # noqa: E402

ENTRY_POINTS = "[console_scripts]\ndigctl = digd._launcher:digctl\ndigd = digd._launcher:digd\n"


def pure_wheel(folder):
    """Builds the wheel of the client and returns its files."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", folder, str(ROOT / "clients/python")], check=True)
    with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def add_programs(files, tree, info):
    executable = set()
    for path in sorted(tree.rglob("*")):
        if not path.is_file():
            continue
        inside = path.relative_to(tree)
        if inside.parts[0] in ("bin", "lib"):
            name = f"digd/_programs/{inside}"
            executable.add(name)
        elif inside.parts[0] == "licenses":
            name = f"{info}/licenses/{inside.name}"
        else:
            name = f"{info}/sboms/{inside.name}"
        files[name] = path.read_bytes()
    files["digd/_launcher.py"] = (Path(__file__).parent / "launcher.py").read_bytes()
    files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode()
    return executable


def record_of(files, info):
    lines = []
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(files[name])}")
    return "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    tree, output = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        files = pure_wheel(folder)
    info = next(name.split("/")[0] for name in files if ".dist-info/" in name)
    tag = f"py3-none-manylinux_2_36_{machine_of(tree / 'bin/digd')}"
    executable = add_programs(files, tree, info)
    del files[f"{info}/RECORD"]
    wheel = re.sub(r"(?m)^Tag: .*$", f"Tag: {tag}", files[f"{info}/WHEEL"].decode())
    files[f"{info}/WHEEL"] = re.sub(r"(?m)^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", wheel).encode()
    files[f"{info}/RECORD"] = record_of(files, info).encode()
    output.mkdir(parents=True, exist_ok=True)
    target = output / f"{info.removesuffix('.dist-info')}-{tag}.whl"
    date = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # zip has no dates before 1980
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        # The metadata comes last, as the specification recommends.
        for name in sorted(files, key=lambda name: (name.startswith(info), name)):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(entry, files[name])
    print(target)


if __name__ == "__main__":
    main()
