"""Runs programs of another architecture on this machine, with qemu-user and the kernel's binfmt_misc.

With `emulated("arm64")` the kernel starts arm64 programs, also inside a chroot, which then needs no qemu of its own.
Needs root and qemu-user-static. The registration holds for the whole machine; it is removed at the end, unless it was
there before.
"""

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

BINFMT = Path("/proc/sys/fs/binfmt_misc")
QEMU = "/usr/bin/qemu-aarch64-static"
# The ELF header of a 64-bit program for AArch64: magic and mask. F keeps qemu open, P passes the name of the program.
REGISTRATION = (
    r":qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    f":{QEMU}:PF"
)


def native():
    return subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def emulated(architecture):
    if architecture == native():
        yield
        return
    if architecture != "arm64":
        sys.exit(f"emulation: no emulator for {architecture}; expected {native()} or arm64")
    if not shutil.which(QEMU):
        sys.exit(f"emulation: {QEMU} is missing; apt-get install qemu-user-static")
    mounted = (BINFMT / "register").exists()
    if not mounted:
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT], check=True)
    entry = BINFMT / "qemu-aarch64"
    registered = entry.exists()
    try:
        if not registered:
            (BINFMT / "register").write_text(REGISTRATION)
        yield
    finally:
        if not registered and entry.exists():
            entry.write_text("-1")
        if not mounted:
            subprocess.run(["umount", BINFMT], check=True)
