"""A daemon whose system calls answer as a test wants: a small C library is loaded before libc."""

import os
import shutil
import subprocess

import pytest

from live import DIGD, Daemon


class PreloadedDaemon(Daemon):
    """digd with SOURCE loaded before libc. SOURCE reads the path `steered` from the variable VARIABLE.

    Skips the test for a digd with the address sanitizer, which must be the first library.
    """

    SOURCE = ""
    VARIABLE = ""

    def __init__(self, folder):
        with open(DIGD, "rb") as binary:
            if b"__asan_init" in binary.read():
                pytest.skip("the address sanitizer must be the first library")
        super().__init__(folder)
        self.steered = self.folder / "steered"
        source = self.folder / "preloaded.c"
        source.write_text(self.SOURCE)
        self.library = self.folder / "preloaded.so"
        compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self.library, source, "-ldl"], check=True)

    def command(self):
        return ["env", f"LD_PRELOAD={self.library}", f"{self.VARIABLE}={self.steered}", *super().command()]
