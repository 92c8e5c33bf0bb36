#!/usr/bin/env python3
"""Rewrites an image archive so that equal contents give equal bytes, and writes the same image as an OCI layout.

    packaging/image/normalize.py ARCHIVE.tar LAYOUT.tar

buildah names the working container, which is random, in the image's configuration. This removes the name, and writes
the configuration, the layers and the manifest again, with fixed times and owners. It compresses the layers, not the
archive: `podman load` of Debian 12 refuses a compressed archive. The layout follows OCI's image specification 1.0.
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

OCI = "application/vnd.oci.image"


def digest(content):
    return hashlib.sha256(content).hexdigest()


def write_archive(path, files):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o444
            archive.addfile(entry, io.BytesIO(files[name]))


def layout_of(config, layers, tag):
    """The files of an OCI layout with one image."""
    blobs = {}

    def descriptor(content, kind, **more):
        blobs[f"blobs/sha256/{digest(content)}"] = content
        return {"mediaType": f"{OCI}.{kind}", "digest": f"sha256:{digest(content)}", "size": len(content), **more}

    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": descriptor(config, "config.v1+json"),
        "layers": [descriptor(layer, "layer.v1.tar+gzip") for layer in layers],
    }
    # podman names the image by the first annotation, containerd by the second.
    names = {"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": tag}
    text = json.dumps(manifest, sort_keys=True).encode()
    index = {"schemaVersion": 2, "manifests": [descriptor(text, "manifest.v1+json", annotations=names)]}
    return {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps(index, sort_keys=True).encode(),
        **blobs,
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path, layout = map(Path, sys.argv[1:])
    with tarfile.open(path) as archive:
        manifest = json.load(archive.extractfile("manifest.json"))
        config = json.load(archive.extractfile(manifest[0]["Config"]))
        names = manifest[0]["Layers"]
        layers = {name: gzip.compress(archive.extractfile(name).read(), 9, mtime=0) for name in names}
    config.pop("container", None)
    text = json.dumps(config, sort_keys=True).encode()
    manifest[0]["Config"] = digest(text) + ".json"
    write_archive(path, {manifest[0]["Config"]: text, "manifest.json": json.dumps(manifest).encode(), **layers})
    # What only Docker's configuration has: the health check, and the settings of the working container.
    config = {key: config[key] for key in ("architecture", "os", "created", "config", "rootfs", "history")}
    kept = ("User", "ExposedPorts", "Env", "Entrypoint", "Cmd", "Volumes", "WorkingDir", "Labels", "StopSignal")
    config["config"] = {key: config["config"][key] for key in kept if config["config"].get(key)}
    text = json.dumps(config, sort_keys=True).encode()
    write_archive(layout, layout_of(text, [layers[name] for name in names], manifest[0]["RepoTags"][0]))


if __name__ == "__main__":
    main()
