"""Repacks a package as version 0.0.1, so that a trial can install an earlier version and upgrade it.

Only the version changes: the programs inside are the same. scripts/test-package does this for Debian packages.
"""

import io
import json
import re
import tarfile
import zipfile
from pathlib import Path

EARLIER = "0.0.1"


def version_of(package):
    """The version in the name of a wheel or of an npm tarball."""
    return re.search(r"-(\d+\.\d+\.\d+)(?=-|\.tgz$)", Path(package).name)[1]


def earlier_wheel(wheel, folder):
    """pip compares the names in RECORD with the files, not their digests."""
    version = version_of(wheel)
    target = folder / wheel.name.replace(f"-{version}-", f"-{EARLIER}-")
    with zipfile.ZipFile(wheel) as given, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as made:
        for entry in given.infolist():
            content = given.read(entry)
            if entry.filename.endswith(".dist-info/METADATA"):
                content = content.replace(f"\nVersion: {version}\n".encode(), f"\nVersion: {EARLIER}\n".encode(), 1)
            elif entry.filename.endswith(".dist-info/RECORD"):
                content = content.replace(f"-{version}.dist-info/".encode(), f"-{EARLIER}.dist-info/".encode())
            entry.filename = entry.filename.replace(f"-{version}.dist-info/", f"-{EARLIER}.dist-info/")
            made.writestr(entry, content)
    return target


def earlier_npm(package, folder):
    """The packages of digd depend on each other in the same version."""
    version = version_of(package)
    target = folder / package.name.replace(f"-{version}.tgz", f"-{EARLIER}.tgz")
    with tarfile.open(package) as given, tarfile.open(target, "w:gz", compresslevel=1) as made:
        for member in given:
            content = given.extractfile(member).read() if member.isfile() else b""
            if member.name == "package/package.json":
                described = json.loads(content)
                described["version"] = EARLIER
                for name in described.get("optionalDependencies", {}):
                    if name.startswith("@digd/"):
                        described["optionalDependencies"][name] = EARLIER
                content = json.dumps(described).encode()
                member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return target
