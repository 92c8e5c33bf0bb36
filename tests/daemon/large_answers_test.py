"""An answer much larger than its message: the client gets it, it is acknowledged, and the daemon stays ready."""

import json
import uuid

from live import Daemon


def ids(count, name):
    return [str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name}{i}")) for i in range(count)]


def split(client, activation, agent, outputs, recipients):
    """An activation that splits one input into many outputs: a generator of its own for all of them."""
    client.event("in-" + activation, [agent])
    client.start(activation, agent, ["in-" + activation])
    client.end(activation, [{"id": id, "recipients": recipients} for id in outputs], {"in-" + activation: "consume"})
    return client.seq


def is_ready(daemon):
    status, _ = daemon.http(f"GET /readyz HTTP/1.0\r\nHost: {daemon.address}\r\n\r\n".encode())
    return status == 200


def test_an_aggregator_with_800_results_is_served_700_more(tmp_path):
    # The queue is smaller than the answer, and the client reads one frame at a time.
    with Daemon(tmp_path, "[connections]\nqueue_bytes = 1000000\n") as daemon:
        client = daemon.client(agents=["a", "b", "aggregator"], max_queue=1)
        held, more = ids(800, "held"), ids(700, "more")
        split(client, "v1", "a", held, ["aggregator"])
        seq = split(client, "v2", "b", more, ["aggregator"])
        verdicts = client.verdicts(seq)
        assert [v["event"] for v in verdicts] == more
        for verdict in verdicts:
            (detection,) = verdict["detections"]
            assert detection["rule"] == "cross_lineage_aggregation" and verdict["action"] == "inject"
            assert len(detection["evidence"]) == 64 and detection["evidence_total"] == 800
        client.wait_acked(seq)
        assert is_ready(daemon)


def test_many_outputs_to_many_recipients_with_long_names_get_a_bounded_answer(tmp_path):
    with Daemon(tmp_path) as daemon:
        agents = [f"a{i}" for i in range(60)]
        client = daemon.client()
        split(client, "v1", "a", [f"{i:03}" + "x" * 250 for i in range(20)], agents)
        outputs = [f"m{i}" for i in range(150)]
        seq = split(client, "v2", "b", outputs, agents)
        verdicts = client.verdicts(seq)
        assert [v["event"] for v in verdicts] == outputs
        detections = [d for v in verdicts for d in v.get("detections", [])]
        assert len(detections) == 150 * 60
        assert all(d["evidence_total"] == 20 for d in detections)
        assert [len(d["evidence"]) for d in detections[:1024]] == [16] * 1024  # 16 ids of 253 bytes
        assert {len(d["evidence"]) for d in detections[1024:]} == {4}
        assert len(json.dumps(verdicts)) < 20480 * len(detections)
        client.wait_acked(seq)
        assert is_ready(daemon)


def test_a_client_that_reads_nothing_stops_only_itself(tmp_path):
    with Daemon(tmp_path, "[connections]\nqueue_bytes = 1000000\n") as daemon:
        silent = daemon.client(run="silent", agents=["a", "b", "aggregator"], max_queue=1)
        split(silent, "v1", "a", ids(800, "held"), ["aggregator"])
        split(silent, "v2", "b", ids(700, "more"), ["aggregator"])
        other = daemon.client(run="other", agents=["a"])
        other.event("e1", ["a"])
        assert other.verdicts()[0]["action"] == "deliver"
        assert is_ready(daemon)
        assert len(silent.verdicts()) == 700  # it reads now, and nothing is lost
