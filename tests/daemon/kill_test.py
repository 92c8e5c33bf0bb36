"""digd keeps its guarantees when killed repeatedly under load (killing.py). scripts/kill does it a thousand times."""

import sqlite3

import pytest

import killing
from live import Daemon


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    made = killing.make_traces("few", count=3, length=300)
    with Daemon(tmp_path_factory.mktemp("whole"), "threads = 2\n") as daemon:
        killing.record_expectations(daemon, made)
    assert any(t.detections for t in made) and any(t.interventions for t in made)
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_acked_is_lost_over_a_dozen_kills(tmp_path, traces, seed):
    with Daemon(tmp_path, "threads = 2\n") as daemon:
        daemon.kill()
        tally = killing.Killing(daemon, traces, seed).run(12)
    assert tally.kills == 12 and tally.runs > 0


def test_the_check_notices_lost_duplicate_and_changed_messages(tmp_path, traces):
    with Daemon(tmp_path, "threads = 2\n") as daemon:
        daemon.kill()
        killing.Killing(daemon, traces, 3, lanes=1).run(1)
        daemon.kill()
        path = daemon.data / "digd.sqlite"
        for damage in ("DELETE FROM entries WHERE seq = 5", "UPDATE entries SET seq = 4 WHERE seq = 5",
                       """UPDATE entries SET frame = '{"type":"time","seq":5}' WHERE seq = 5"""):
            with sqlite3.connect(path) as db:
                killing.check_archive(db, "k0", traces[0])
                db.execute(damage)
                with pytest.raises(killing.Broken):
                    killing.check_archive(db, "k0", traces[0])
                db.rollback()
