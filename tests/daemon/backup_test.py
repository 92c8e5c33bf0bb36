"""`digctl backup` under load and `digctl restore` after damage, with a running digd."""

import subprocess
import threading

from live import DIGCTL, Daemon


def digctl(*args):
    return subprocess.run([DIGCTL, *map(str, args)], capture_output=True, text=True, timeout=120, check=False)


def test_a_backup_under_load_restores_every_message_acked_before_it(tmp_path):
    copy = tmp_path / "copy.sqlite"
    stop = threading.Event()
    with Daemon(tmp_path) as daemon:
        data = daemon.data
        with daemon.client(run="busy") as busy, daemon.client(run="r1", session="main") as c:

            def load():
                for i in range(100_000):
                    if stop.is_set():
                        return
                    busy.event(f"e{i}", ["planner"])
                    busy.verdicts()

            worker = threading.Thread(target=load)
            worker.start()
            try:
                for i in range(50):
                    c.event(f"e{i}", ["planner"])
                c.wait_acked()
                made = digctl("backup", copy, "--data-dir", data)
            finally:
                stop.set()
                worker.join()
        assert made.returncode == 0, made.stderr
    (data / "digd.sqlite").write_bytes(b"the disk returned something else" * 1000)

    refused = digctl("restore", copy, "--data-dir", data)
    assert refused.returncode == 2 and "--replace" in refused.stderr
    restored = digctl("restore", copy, "--data-dir", data, "--replace")
    assert restored.returncode == 0, restored.stderr
    replaced = sorted(f.name for f in data.glob("digd.sqlite.replaced-*"))
    assert replaced[0] + "-wal" in replaced  # the damaged file, with its log
    with Daemon(tmp_path) as daemon:
        with daemon.client(run="r1", session="main") as c:  # it goes on where the copy ends
            assert c.welcome["acked_seq"] == 50


def test_a_running_digd_is_not_replaced(daemon, tmp_path):
    copy = tmp_path / "copy.sqlite"
    assert digctl("backup", copy, "--data-dir", daemon.data).returncode == 0
    refused = digctl("restore", copy, "--data-dir", daemon.data, "--replace")
    assert refused.returncode == 2 and "stop it first" in refused.stderr
    again = digctl("backup", copy, "--data-dir", daemon.data)
    assert again.returncode == 2 and "exists already" in again.stderr
