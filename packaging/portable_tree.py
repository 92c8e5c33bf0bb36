#!/usr/bin/env python3
"""Makes a folder with digd, digctl and the shared libraries that they load. It runs on any Linux with glibc >= 2.36.

    packaging/portable_tree.py BUILD FOLDER

BUILD is a build tree with bin/digd and bin/digctl. The wheel, the npm packages and the image contain this folder:

    bin/        digd, digctl, stripped; they look for libraries in ../lib
    lib/        the libraries, as Debian built them, stripped; without glibc
    licenses/   digd's licence, and Debian's copyright file of each library's package

It also writes FOLDER/sbom.spdx.json: every package in the folder (SPDX 2.3). The result depends only on the inputs and
SOURCE_DATE_EPOCH.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("digd", "digctl")
# glibc belongs to the system: it must agree with the system's dynamic linker and its name service.
GLIBC = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nsl|anl|nss_\w+)\.so.*|linux-vdso.*)$")
# Compiled into the programs: headers, and a static library.
COMPILED_IN = ("libboost1.81-dev", "libcli11-dev", "libconcurrentqueue-dev", "libeigen3-dev", "libspdlog-dev")


def output(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def libraries_of(program):
    """The paths of the libraries that the program loads, without glibc."""
    found = {}
    for line in output("ldd", program).splitlines():
        match = re.match(r"\s*(\S+) => (\S+)", line)
        if not match:
            continue
        name, path = match.groups()
        if path == "not":
            sys.exit(f"portable_tree: {program}: library {name} was not found")
        if not GLIBC.match(name):
            found[name] = Path(path)
    return found


def owner_of(path):
    """The Debian package that installed a library."""
    real = path.resolve()
    # dpkg knows a file by one of its names: with or without /usr.
    for candidate in (path, real, Path(str(path).removeprefix("/usr")), Path(f"/usr{path}"), Path(f"/usr{real}")):
        done = subprocess.run(["dpkg", "-S", str(candidate)], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return sys.exit(f"portable_tree: no Debian package owns {path}")


def debian_package(name):
    text = output("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${source:Package}\t${Homepage}\n", name)
    package, version, source, homepage = text.splitlines()[0].split("\t")
    return {"name": package, "version": version, "source": source, "homepage": homepage}


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


def sbom(debian, version):
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
        purl = f"pkg:deb/debian/{found['name']}@{found['version']}?arch={deb_arch()}"
        packages.append(package(len(packages), found["name"], found["version"], purl, homepage=found["homepage"]))
    for found in npm_packages():
        purl = f"pkg:npm/{found['name'].replace('@', '%40')}@{found['version']}"
        packages.append(package(len(packages), found["name"], found["version"], purl, found["licence"]))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"digd-{version}-{deb_arch()}",
        "documentNamespace": f"https://spdx.org/spdxdocs/digd-{version}-{deb_arch()}-{epoch()}",
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


def deb_arch():
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    build, folder = map(Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("bin", "lib", "licenses"):
        (folder / name).mkdir(parents=True)
    libraries = {}
    for name in PROGRAMS:
        shutil.copy(build / "bin" / name, folder / "bin" / name)
        libraries |= libraries_of(build / "bin" / name)
    for name, path in libraries.items():
        shutil.copy(path.resolve(), folder / "lib" / name)
    for file in [*(folder / "bin").iterdir(), *(folder / "lib").iterdir()]:
        file.chmod(0o755)
        subprocess.run(["strip", "--strip-unneeded", file], check=True)
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/../lib", file], check=True)
    owners = sorted({owner_of(path) for path in libraries.values()})
    compiled = [p for p in COMPILED_IN if subprocess.run(["dpkg-query", "-W", p], capture_output=True).returncode == 0]
    shutil.copy(ROOT / "LICENSE", folder / "licenses/digd")
    for name in [*owners, *compiled]:
        shutil.copy(f"/usr/share/doc/{name}/copyright", folder / "licenses" / name)
    packages = [debian_package(name) for name in [*owners, *compiled]]
    text = json.dumps(sbom(packages, digd_version()), indent=1) + "\n"
    (folder / "sbom.spdx.json").write_text(text)
    for file in folder.rglob("*"):
        if file.is_file():
            file.chmod(0o755 if file.parent.name in ("bin", "lib") else 0o644)
            os.utime(file, (epoch(), epoch()))


if __name__ == "__main__":
    main()
