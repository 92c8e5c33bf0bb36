"""digd reads ended runs back on a separate thread, without disturbing the engine thread of the run."""

import threading

from live import Daemon


def test_reading_back_a_run_does_not_disturb_another(tmp_path):
    with Daemon(tmp_path, "threads = 1\n") as daemon:
        with daemon.client("past") as c:
            for i in range(1500):
                c.event(f"past-{i}", ["a"], event={"payload": {"text": "x" * 300}})
            c.tell("run_ended", outcome="success")
            c.wait_acked()
        done = threading.Event()
        wrong = []

        def send_continuously():
            with daemon.client("present", agents=["b", "c"]) as c:
                i = 0
                while not done.is_set():
                    i += 1
                    c.event(f"present-{i}", ["b"] if i % 2 else ["nobody"])
                    verdict = c.verdicts()[0]
                    if verdict["event"] != f"present-{i}" or bool(verdict.get("detections")) != (i % 2 == 0):
                        wrong.append(verdict)
                c.wait_acked()

        busy = threading.Thread(target=send_continuously)
        busy.start()
        try:
            for _ in range(8):  # released each time its client disconnects
                with daemon.client("past", next_seq=1502) as c:
                    assert c.welcome["acked_seq"] == 1501
        finally:
            done.set()
            busy.join()
        assert wrong == []
