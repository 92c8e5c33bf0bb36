"""One client never has all that clients share: places of the feed, bodies that digd reads; and whose webhooks show."""

import contextlib
import json
import select

import pytest
from live import TIMEOUT_S, Daemon, wait_until
from token_access import TOKENS, entry, ingest, status_of
from webhook_receiver import Receiver, hook, orphan
from websockets.exceptions import InvalidStatus

ALL = TOKENS["all"][0]
GREEDY, OTHER = "1" * 64, "2" * 64
FEED = dict(path="/v1/feed", subprotocols=["digd.feed.v1"])
MAX_READERS, MAX_BODIES = 128, 32


def shared(folder, config=""):
    tokens = folder / "tokens.toml"
    rights = ["ingest", "watch", "read"]
    own = entry("greedy", GREEDY, rights) + entry("other", OTHER, rights)
    tokens.write_text(own + entry("all", *TOKENS["all"][:2]))
    return Daemon(folder, f'tokens = "{tokens}"\n{config}')


def test_one_client_takes_half_of_the_feeds_places_and_others_keep_reading(tmp_path):
    with shared(tmp_path) as daemon, contextlib.ExitStack() as held:
        for _ in range(MAX_READERS):
            held.enter_context(ingest(daemon, GREEDY, **FEED))
        with pytest.raises(InvalidStatus) as refused:
            ingest(daemon, GREEDY, **FEED)
        assert refused.value.response.status_code == 503
        with ingest(daemon, OTHER, **FEED):
            pass
        held.close()
        wait_until(lambda: reads(daemon), "the closed readers to give back their places")


def reads(daemon):
    try:
        ingest(daemon, GREEDY, **FEED).close()
        return True
    except InvalidStatus:
        return False


def half_sent(daemon, token):
    s = daemon.raw()
    s.sendall(
        f"POST /v1/traces HTTP/1.1\r\nHost: {daemon.address}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n{".encode()
    )
    return s


def test_half_sent_bodies_of_one_client_leave_room_for_others(tmp_path):
    with shared(tmp_path) as daemon, contextlib.ExitStack() as held:
        posts = [held.enter_context(half_sent(daemon, GREEDY)) for _ in range(MAX_BODIES + 1)]
        answered, *_ = select.select(posts, [], [], TIMEOUT_S)
        assert b"503" in answered[0].recv(100).split(b"\r\n")[0] and len(answered) == 1
        assert post_traces(daemon, OTHER) == 200
        held.close()
        wait_until(lambda: post_traces(daemon, GREEDY) == 200, "the places to be free")


def post_traces(daemon, token):
    with daemon.raw() as s:
        s.sendall(
            f"POST /v1/traces HTTP/1.1\r\nHost: {daemon.address}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}".encode()
        )
        return int(s.recv(100).split()[1])


def test_a_token_for_some_runs_sees_only_webhooks_of_these_runs(tmp_path):
    with Receiver(lambda path, body: 500) as receiver:
        hooks = (
            hook(tmp_path, receiver.url("/all"), name="all", attempts=1)
            + hook(tmp_path, receiver.url("/eu"), name="eu", attempts=1, runs=["prod-eu-"])
            + hook(tmp_path, receiver.url("/mixed"), name="mixed", attempts=1, runs=["prod-eu-", "dev-"])
        )
        tokens = tmp_path / "tokens.toml"
        some = entry("some", GREEDY, ["read", "ingest"], 'runs = ["prod-"]')
        tokens.write_text(some + entry("all", *TOKENS["all"][:2]))
        with Daemon(tmp_path, f'tokens = "{tokens}"\n{hooks}') as daemon:
            for run in ("prod-eu-1", "dev-1"):
                with daemon.client(run, token=ALL, agents=["a"]) as c:
                    orphan(c)
                    c.wait_acked()
            wait_until(lambda: len(dead(daemon, ALL, "all")) == 2, "the dead letters")
            assert names(daemon, ALL) == ["all", "eu", "mixed"]
            assert [letter["run"] for letter in dead(daemon, ALL, "eu")] == ["prod-eu-1"]  # the webhook is for this run
            assert names(daemon, GREEDY) == ["eu"]
            assert [letter["run"] for letter in dead(daemon, GREEDY, "eu")] == ["prod-eu-1"]
            for name in ("all", "mixed"):
                assert status_of(daemon, f"/v1/webhooks/{name}/dead", GREEDY)[0] == 404


def names(daemon, token):
    return sorted(w["name"] for w in json.loads(status_of(daemon, "/v1/webhooks", token)[1])["webhooks"])


def dead(daemon, token, name):
    return json.loads(status_of(daemon, f"/v1/webhooks/{name}/dead", token)[1])["dead"]
