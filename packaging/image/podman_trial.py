"""Tries the image with podman, as root or as an ordinary user. scripts/test-packages calls it as root.

Both work in a mount namespace of their own. The ordinary user exists only there, with a range of user ids for podman.
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

CLONE_NEWNS = 0x20000
TRIER, FIRST_SUBORDINATE, SUBORDINATES = 7400, 200_000, 65_536
# podman prefixes a JSON list with CMD.
HEALTH = '["/usr/bin/digctl", "health", "--timeout", "5"]'
# Without systemd podman has no timer for health checks. The limits are below those of a machine that denies more.
OPTIONS = ["--read-only", "--network=host", "--healthcheck-interval=disable", "--ulimit=nofile=1024:1024"]
OPTIONS += ["--ulimit=nproc=1000:1000", "--cap-drop=all", "--security-opt=no-new-privileges"]


def run(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, timeout=1800, **more)


def enter_mount_namespace():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError("cannot make a mount namespace")
    run("mount", "--make-rprivate", "/")
    # crun refuses a control group of version 2 beside those of version 1. So it is hidden, from this process only.
    hybrid = Path("/sys/fs/cgroup/unified")
    if hybrid.is_mount():
        run("umount", hybrid)


def add_user(folder):
    """Adds an ordinary user to the files of this mount namespace."""
    lines = {
        "passwd": f"trier:x:{TRIER}:{TRIER}::{folder}:/bin/sh",
        "group": f"trier:x:{TRIER}:",
        "subuid": f"trier:{FIRST_SUBORDINATE}:{SUBORDINATES}",
        "subgid": f"trier:{FIRST_SUBORDINATE}:{SUBORDINATES}",
    }
    for name, line in lines.items():
        file, copy = Path("/etc", name), folder / name
        file.touch()
        copy.write_text(f"{file.read_text().rstrip()}\n{line}\n".lstrip())
        run("mount", "--bind", copy, file)
    run("mount", "--make-rshared", "/")


def podman_command(folder, run_folder, rootless):
    stores = ["--root", folder / "storage", "--runroot", run_folder, "--storage-driver=vfs"]
    podman = ["podman", *stores, "--cgroup-manager=cgroupfs", "--events-backend=none", "--runtime=crun"]
    if not rootless:
        return podman
    (folder / "session").mkdir(mode=0o700)
    for path in (folder, folder / "session", run_folder):
        os.chown(path, TRIER, TRIER)
    user = ["setpriv", f"--reuid={TRIER}", f"--regid={TRIER}", "--init-groups"]
    environment = ["env", "-C", folder, f"HOME={folder}", f"XDG_RUNTIME_DIR={folder}/session", "USER=trier"]
    return [*user, *environment, *podman]


def wait_until_healthy(podman, name):
    deadline = time.monotonic() + 120
    while subprocess.run([*podman, "healthcheck", "run", name], capture_output=True).returncode != 0:
        if time.monotonic() > deadline:
            logs = subprocess.run([*podman, "logs", name], capture_output=True, text=True)
            raise TimeoutError(f"the container {name} does not become healthy: {logs.stdout}{logs.stderr}")
        time.sleep(0.1)


def try_image(image, trace, folder, owner, check, *, rootless):
    """Returns the seconds from loading the image to the first verdict. `owner`: the image's user id."""
    enter_mount_namespace()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = [*OPTIONS]
    if rootless:
        add_user(folder)
        owner += FIRST_SUBORDINATE - 1
        options += ["--cgroups=disabled", f"--health-cmd={HEALTH}"]  # an OCI layout has no health check
    # podman takes no --runroot of more than 50 characters, whatever folder this checkout is in.
    run_folder = Path(tempfile.mkdtemp(prefix="digd-", dir="/tmp"))
    podman = list(map(str, podman_command(folder, run_folder, rootless)))
    for name in ("data", "socket"):
        (folder / "volumes" / name).mkdir(mode=0o700, parents=True)
        os.chown(folder / "volumes" / name, owner, owner)
    shutil.copy(trace, folder / "volumes/socket/demo.jsonl")
    options += ["-v", f"{folder}/volumes/data:/var/lib/digd", "-v", f"{folder}/volumes/socket:/run/digd"]

    try:
        return try_containers(image, podman, options, owner, check)
    finally:
        subprocess.run([*podman, "rm", "--force", "--time=40", "--all"], stdout=subprocess.DEVNULL)
        if rootless:
            subprocess.run([*podman, "system", "migrate"])  # ends the process that holds the user's namespace
        for path in (folder, run_folder):
            shutil.rmtree(path)


def try_containers(image, podman, options, owner, check):
    def called(*command):
        return run(*podman, *command, stdout=subprocess.PIPE, text=True).stdout.strip()

    begun = time.monotonic()
    tag = called("load", "--input", image).removeprefix("Loaded image: ")
    check("podman loads the image", tag.startswith("localhost/digd:"))
    called("run", "--detach", "--name=digd-unix", *options, tag)
    wait_until_healthy(podman, "digd-unix")
    check("the health check passes", True)
    sent = called("exec", "digd-unix", "/usr/bin/digctl", "send", "/run/digd/demo.jsonl")
    seconds = time.monotonic() - begun
    check("over the Unix socket, the scripted team is healed", sent.count("reroute") == 2)
    process = called("inspect", "--format={{.State.Pid}}", "digd-unix")
    check("the process is neither root's nor the caller's", os.stat(f"/proc/{process}").st_uid == owner)
    root_mount = next(line.split() for line in open(f"/proc/{process}/mounts") if line.split()[1] == "/")
    check("its root is read-only", "ro" in root_mount[3].split(","))
    called("stop", "--time=40", "digd-unix")
    check("it stops with status 0", called("inspect", "--format={{.State.ExitCode}}", "digd-unix") == "0")
    called("rm", "digd-unix")
    make_token = ["token", "test", "--rights", "ingest,read", "--append", "/run/digd/tokens"]
    token = called("run", "--rm", *options, "--entrypoint=/usr/bin/digctl", tag, *make_token)
    tcp = ["--env=DIGD_LISTEN=0.0.0.0:17344", "--env=DIGD_URL=127.0.0.1:17344", "--env=DIGD_TOKENS=/run/digd/tokens"]
    called("run", "--detach", "--name=digd-tcp", *options, *tcp, tag)
    wait_until_healthy(podman, "digd-tcp")
    runs = ["digd-tcp", "/usr/bin/digctl", "runs"]
    check("over TCP, it wants a token", subprocess.run([*podman, "exec", *runs], capture_output=True).returncode == 2)
    with_token = ["exec", f"--env=DIGD_TOKEN={token}"]
    sent = called(*with_token, "digd-tcp", "/usr/bin/digctl", "send", "/run/digd/demo.jsonl", "--run=second")
    check("over TCP with the token, the scripted team is healed", sent.count("reroute") == 2)
    listed = called(*with_token, *runs)
    check("a new container on the same volume has the archive", "demo" in listed)
    called("rm", "--force", "--time=40", "digd-tcp")
    version = called("run", "--rm", *options, "--entrypoint=/usr/bin/digd", tag, "--version")
    check("digd --version answers", version.startswith("digd "))
    called("rmi", tag)
    check("removing leaves no image", called("images", "--quiet") == "")
    return seconds
