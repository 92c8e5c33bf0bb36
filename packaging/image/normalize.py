#!/usr/bin/env python3
"""Rewrites an image archive so that equal contents give equal bytes: packaging/image/normalize.py ARCHIVE.tar

buildah names the working container, which is random, in the image's configuration. This removes the name, and writes
the configuration, the layers and the manifest again, with fixed times and owners. It compresses the layers, not the
archive: `podman load` of Debian 12 refuses a compressed archive.
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = Path(sys.argv[1])
    with tarfile.open(path) as archive:
        manifest = json.load(archive.extractfile("manifest.json"))
        config = json.load(archive.extractfile(manifest[0]["Config"]))
        names = manifest[0]["Layers"]
        layers = {name: gzip.compress(archive.extractfile(name).read(), 9, mtime=0) for name in names}
    config.pop("container", None)
    text = json.dumps(config, sort_keys=True).encode()
    manifest[0]["Config"] = hashlib.sha256(text).hexdigest() + ".json"
    files = {manifest[0]["Config"]: text, "manifest.json": json.dumps(manifest).encode(), **layers}
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o444
            archive.addfile(entry, io.BytesIO(files[name]))


if __name__ == "__main__":
    main()
