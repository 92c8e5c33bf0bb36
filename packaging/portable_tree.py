#!/usr/bin/env python3
"""Makes a folder with digd, digctl and the shared libraries that they load. It runs on any Linux with glibc >= 2.36.

    packaging/portable_tree.py BUILD FOLDER [SYSROOT]

BUILD is a build tree with bin/digd and bin/digctl. SYSROOT has the libraries that they were linked with, as
packaging/cross/make_sysroot makes it; the default is this system. The wheel, the npm packages and the image contain
this folder:

    bin/        digd, digctl, stripped; they look for libraries in ../lib
    lib/        the libraries, as Debian built them, stripped; without glibc
    licenses/   digd's licence, and Debian's copyright file of each library's package

It also writes FOLDER/sbom.spdx.json: every package in the folder (SPDX 2.3). The result depends only on the inputs and
SOURCE_DATE_EPOCH.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("digd", "digctl")
MACHINES = {62: "x86_64", 183: "aarch64"}  # by e_machine of the ELF header
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
# glibc belongs to the system: it must agree with the system's dynamic linker and its name service.
GLIBC = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nsl|anl|nss_\w+)\.so.*|linux-vdso.*)$")
# Compiled into the programs: headers, and a static library.
COMPILED_IN = ("libboost1.81-dev", "libcli11-dev", "libconcurrentqueue-dev", "libeigen3-dev", "libspdlog-dev")


def output(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def machine_of(program):
    """The architecture that an ELF file is for, as `uname -m` calls it."""
    machine = int.from_bytes(Path(program).read_bytes()[18:20], "little")
    if machine not in MACHINES:
        sys.exit(f"portable_tree: {program}: ELF machine {machine}, expected one of {sorted(MACHINES)}")
    return MACHINES[machine]


class System:
    """The Debian system, or sysroot, whose libraries the programs load."""

    def __init__(self, root, machine):
        self.root, self.machine = root, machine
        folder = f"lib/{machine}-linux-gnu"
        self.folders = [root / folder, root / "usr" / folder]
        self.query = ["dpkg-query", "--admindir", root / "var/lib/dpkg"]

    def libraries_of(self, program):
        """The paths of the libraries that the program loads, with theirs, without glibc."""
        found, wanted = {}, [program]
        while wanted:
            file = wanted.pop()
            for name in re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", file)):
                if name in found or GLIBC.match(name):
                    continue
                paths = [folder / name for folder in self.folders if (folder / name).exists()]
                if not paths:
                    sys.exit(f"portable_tree: {file}: library {name} was not found in {self.folders}")
                found[name] = paths[0]
                wanted.append(paths[0])
        return found

    def owner_of(self, path):
        """The Debian package that installed a library."""
        # dpkg knows a file by one of its names: with or without /usr.
        for file in (path, path.resolve()):
            inside = Path("/", file.relative_to(self.root.resolve()))
            for candidate in (inside, Path(str(inside).removeprefix("/usr")), Path(f"/usr{inside}")):
                done = subprocess.run([*self.query, "-S", candidate], capture_output=True, text=True)
                if done.returncode == 0:
                    return done.stdout.split(":")[0]
        return sys.exit(f"portable_tree: no Debian package owns {path}")

    def has(self, package):
        return subprocess.run([*self.query, "-W", package], capture_output=True).returncode == 0

    def package(self, name):
        text = output(*self.query, "-W", "-f", "${Package}\t${Version}\t${source:Package}\t${Homepage}\n", name)
        package, version, source, homepage = text.splitlines()[0].split("\t")
        return {"name": package, "version": version, "source": source, "homepage": homepage}

    def copyright_of(self, name):
        return self.root / "usr/share/doc" / name / "copyright"


def digd_version():
    return re.search(r"^project\(digd VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def npm_packages():
    """The npm packages whose code is in the dashboard, which is embedded in digd."""
    lock = json.loads((ROOT / "dashboard/package-lock.json").read_text())
    for path, entry in sorted(lock["packages"].items()):
        if path and not entry.get("dev"):
            name = path.split("node_modules/")[-1]
            yield {"name": name, "version": entry["version"], "licence": entry.get("license") or "NOASSERTION"}


def epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "-C", ROOT, "log", "-1", "--format=%ct"))


def sbom(debian, version, architecture):
    """SPDX 2.3 of the folder. The licence texts are in licenses/; SPDX names are given only where they are certain."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))

    def package(number, name, version, purl, licence="NOASSERTION", homepage=""):
        entry = {
            "SPDXID": f"SPDXRef-Package-{number}",
            "name": name,
            "versionInfo": version,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence,
            "copyrightText": "NOASSERTION",
            "externalRefs": [
                {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
            ],
        }
        return entry | ({"homepage": homepage} if homepage else {})

    packages = [package(0, "digd", version, f"pkg:generic/digd@{version}", "MIT")]
    for found in debian:
        purl = f"pkg:deb/debian/{found['name']}@{found['version']}?arch={architecture}"
        packages.append(package(len(packages), found["name"], found["version"], purl, homepage=found["homepage"]))
    for found in npm_packages():
        purl = f"pkg:npm/{found['name'].replace('@', '%40')}@{found['version']}"
        packages.append(package(len(packages), found["name"], found["version"], purl, found["licence"]))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"digd-{version}-{architecture}",
        "documentNamespace": f"https://spdx.org/spdxdocs/digd-{version}-{architecture}-{epoch()}",
        "creationInfo": {"created": created, "creators": ["Tool: packaging/portable_tree.py"]},
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": "SPDXRef-Package-0",
            },
            *(
                {
                    "spdxElementId": "SPDXRef-Package-0",
                    "relationshipType": "CONTAINS",
                    "relatedSpdxElement": entry["SPDXID"],
                }
                for entry in packages[1:]
            ),
        ],
    }


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    build, folder = map(Path, sys.argv[1:3])
    machine = machine_of(build / "bin/digd")
    system = System(Path(sys.argv[3] if len(sys.argv) == 4 else "/").resolve(), machine)
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("bin", "lib", "licenses"):
        (folder / name).mkdir(parents=True)
    libraries = {}
    for name in PROGRAMS:
        shutil.copy(build / "bin" / name, folder / "bin" / name)
        libraries |= system.libraries_of(build / "bin" / name)
    for name, path in libraries.items():
        shutil.copy(path.resolve(), folder / "lib" / name)
    for file in [*(folder / "bin").iterdir(), *(folder / "lib").iterdir()]:
        file.chmod(0o755)
        subprocess.run([f"{machine}-linux-gnu-strip", "--strip-unneeded", file], check=True)
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/../lib", file], check=True)
    owners = sorted({system.owner_of(path) for path in libraries.values()})
    compiled = [name for name in COMPILED_IN if system.has(name)]
    shutil.copy(ROOT / "LICENSE", folder / "licenses/digd")
    for name in [*owners, *compiled]:
        shutil.copy(system.copyright_of(name), folder / "licenses" / name)
    packages = [system.package(name) for name in [*owners, *compiled]]
    text = json.dumps(sbom(packages, digd_version(), DEBIAN_NAMES[machine]), indent=1) + "\n"
    (folder / "sbom.spdx.json").write_text(text)
    for file in folder.rglob("*"):
        if file.is_file():
            file.chmod(0o755 if file.parent.name in ("bin", "lib") else 0o644)
            os.utime(file, (epoch(), epoch()))


if __name__ == "__main__":
    main()
