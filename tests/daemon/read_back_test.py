"""Ended runs are read back on a thread of their own: what goes on meanwhile on the run's thread is not disturbed."""

import threading

from live import Daemon


def test_a_run_read_back_beside_traffic_disturbs_nobody(tmp_path):
    with Daemon(tmp_path, "threads = 1\n") as daemon:
        with daemon.client("past") as c:
            for i in range(1500):
                c.event(f"past-{i}", ["a"], event={"payload": {"text": "x" * 300}})
            c.tell("run_ended", outcome="success")
            c.wait_acked()
        done = threading.Event()
        wrong = []

        def goes_on():
            with daemon.client("present", agents=["b", "c"]) as c:
                i = 0
                while not done.is_set():
                    i += 1
                    c.event(f"present-{i}", ["b"] if i % 2 else ["nobody"])
                    said = c.verdicts()[0]
                    if said["event"] != f"present-{i}" or bool(said.get("detections")) != (i % 2 == 0):
                        wrong.append(said)
                c.wait_acked()

        busy = threading.Thread(target=goes_on)
        busy.start()
        try:
            for _ in range(8):  # let go of again each time its client leaves
                with daemon.client("past", next_seq=1502) as c:
                    assert c.welcome["acked_seq"] == 1501
        finally:
            done.set()
            busy.join()
        assert wrong == []
