#!/usr/bin/env python3
"""Builds the npm packages: digd, the platform's package with the programs, and @digd/client.

    packaging/npm/build_packages.py OUTPUT_FOLDER TREE...      TREE: of packaging/portable_tree.py

digd depends on the platform's package of each tree. The client must be built (`npm --prefix
clients/typescript run build`). npm writes the same tarball for the same files.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
from portable_tree import machine_of  # noqa: E402

CPUS = {"x86_64": "x64", "aarch64": "arm64"}
COMMON = {"license": "MIT", "engines": {"node": ">=18.19"}}


def write(folder, package, readme):
    (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n")
    (folder / "README.md").write_text(readme)


def pack(folder, output):
    command = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(output.resolve())]
    name = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split()[-1]
    print(output / name)


def pack_launcher(folder, version, cpus, output):
    launcher = Path(folder, "launcher")
    launcher.mkdir()
    shutil.copy(Path(__file__).parent / "digd.mjs", launcher)
    shutil.copy(Path(__file__).parent / "digd.mjs", launcher / "digctl.mjs")
    shutil.copy(ROOT / "LICENSE", launcher)
    package = {
        "name": "digd",
        "version": version,
        "description": "Runtime monitor for multi-agent systems of language models: digd and digctl",
        "type": "module",
        "bin": {"digd": "digd.mjs", "digctl": "digctl.mjs"},
        "files": ["*.mjs", "LICENSE"],
        "optionalDependencies": {f"@digd/linux-{cpu}": version for cpu in cpus},
        **COMMON,
    }
    write(launcher, package, "# digd\n\n`npx digd` starts the daemon, `npx digctl demo` shows it at work.\n")
    pack(launcher, output)


def pack_programs(folder, version, cpu, tree, output):
    programs = Path(folder, cpu)
    shutil.copytree(tree, programs)
    package = {
        "name": f"@digd/linux-{cpu}",
        "version": version,
        "description": f"digd and digctl for Linux ({cpu}, glibc 2.36 or later)",
        "os": ["linux"],
        "cpu": [cpu],
        "libc": ["glibc"],
        **COMMON,
    }
    readme = "# digd for Linux\n\nThe programs of the package `digd`; `licenses/` has all licences.\n"
    write(programs, package, readme)
    pack(programs, output)


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    output, *trees = map(Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    version = json.loads((ROOT / "clients/typescript/package.json").read_text())["version"]
    by_cpu = {CPUS[machine_of(tree / "bin/digd")]: tree for tree in trees}
    with tempfile.TemporaryDirectory() as folder:
        pack_launcher(folder, version, by_cpu, output)
        for cpu, tree in by_cpu.items():
            pack_programs(folder, version, cpu, tree, output)
    pack(ROOT / "clients/typescript", output)


if __name__ == "__main__":
    main()
