"""The version of this client, from the metadata of the installed package."""

from __future__ import annotations

from importlib import metadata

try:
    __version__ = metadata.version("digd")
except metadata.PackageNotFoundError:  # imported from a source tree that is not installed
    __version__ = "0.0.0+uninstalled"
