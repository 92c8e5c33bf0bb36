"""Search over what agents said: off by default, indexed outside the writer, and nothing outlives its run."""

import json
from urllib.parse import quote

import pytest
from live import Daemon, wait_until
from token_access import TOKENS, guarded, status_of
from watching import ask, get, metric, run_path

ON = "[payloads]\nsearch_bytes = 100000000\n"


def say(daemon, run, *texts):
    with daemon.client(run, agents=["a", "b"]) as c:
        for i, text in enumerate(texts):
            c.event(f"{run}-e{i}", ["a"], event={"payload": {"text": text, "parts": [{"more": f"nested {text}"}]}})
        c.wait_acked()


def search(daemon, words, run=None, **query):
    path = f"/v1/search?q={quote(words)}" + (f"&run={quote(run)}" if run else "")
    return get(daemon, path + "".join(f"&{name}={value}" for name, value in query.items()))


def hits(daemon, words, run=None):
    return [(hit["run"], hit["event"]) for hit in search(daemon, words, run)["hits"]]


def indexed(daemon, texts):
    wait_until(lambda: metric(daemon, "digd_search_texts_total") >= texts, "the index")


def index_bytes(daemon):
    return b"".join(file.read_bytes() for file in daemon.data.glob("search.db*"))


def test_search_is_off_by_default_and_says_how_to_turn_it_on(tmp_path):
    with Daemon(tmp_path) as daemon:
        say(daemon, "r1", "a zebra")
        answer = search(daemon, "zebra")
        assert answer["on"] is False and answer["hits"] == [] and "payloads.search_bytes" in answer["message"]
        assert not list(daemon.data.glob("search.db*"))


def test_texts_are_found_over_runs_and_in_one(tmp_path):
    with Daemon(tmp_path, ON) as daemon:
        say(daemon, "r1", "The zebra crosses the road.", "Nothing here.")
        say(daemon, "r2", "A ZEBRA sleeps; größer als zwölf.")
        indexed(daemon, 3)
        assert hits(daemon, "zebra") == [("r2", "r2-e0"), ("r1", "r1-e0")]  # the newest first
        assert hits(daemon, "zebra", "r1") == [("r1", "r1-e0")]
        assert hits(daemon, "zebra road") == [("r1", "r1-e0")]  # every word
        assert hits(daemon, "zeb") == [("r2", "r2-e0"), ("r1", "r1-e0")]  # the last word of a query may be a prefix
        assert hits(daemon, "nested nothing") == [("r1", "r1-e1")]  # at any depth
        assert hits(daemon, "größer") == [("r2", "r2-e0")]
        assert hits(daemon, 'zebra" OR text:"nothing') == []  # no operator
        assert "zebra crosses" in search(daemon, "zebra", "r1")["hits"][0]["excerpt"]


def test_a_text_is_found_in_a_deeply_nested_payload(tmp_path):
    payload = "a hidden zebra"
    for _ in range(500):
        payload = {"in": payload}
    with Daemon(tmp_path, ON) as daemon:
        with daemon.client("r1", agents=["a"]) as c:
            c.event("e1", ["a"], event={"payload": payload})
            c.wait_acked()
        indexed(daemon, 1)
        assert hits(daemon, "zebra") == [("r1", "e1")]


def test_a_hit_leads_to_the_stored_frame(tmp_path):
    with Daemon(tmp_path, ON) as daemon:
        say(daemon, "r1", "a zebra")
        indexed(daemon, 1)
        hit = search(daemon, "zebra")["hits"][0]
        frame = get(daemon, run_path("r1", "entries", str(hit["seq"])))["frame"]
        assert frame["event"]["payload"]["text"] == "a zebra"
        assert ask(daemon, "GET", run_path("r1", "entries", "999999"))[0] == 404
        assert ask(daemon, "GET", run_path("r1", "entries", "x"))[0] == 400
        say(daemon, "r2", "else")
        assert ask(daemon, "GET", run_path("r2", "entries", str(hit["seq"])))[0] == 404  # another run's entry


def test_pages_of_hits_follow_each_other(tmp_path):
    with Daemon(tmp_path, ON) as daemon:
        say(daemon, "r1", *(f"zebra {i}" for i in range(25)))
        indexed(daemon, 25)
        seen, cursor = [], None
        while True:
            page = search(daemon, "zebra", limit=10, **({"cursor": cursor} if cursor else {}))
            seen += [hit["event"] for hit in page["hits"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert seen == [f"r1-e{i}" for i in reversed(range(25))]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "q=",
        "q=%20-%20",
        "q=" + "x" * 1001,
        "q=a&limit=0",
        "q=a&limit=501",
        "q=a&cursor=x",
        "q=a&cursor=-1",
        "q=a&cursor=9223372036854775808",
        "q=a&run=",
        "q=a&run=" + "r" * 257,
        "q=%4",
    ],
)
def test_a_search_without_words_or_with_a_wrong_parameter_is_refused(tmp_path, query):
    with Daemon(tmp_path, ON) as daemon:
        assert ask(daemon, "GET", "/v1/search?" + query)[0] == 400


def test_deletion_leaves_no_word_in_the_index(tmp_path):
    with Daemon(tmp_path, ON) as daemon:
        say(daemon, "r1", "the secretword of one")
        say(daemon, "r2", "the otherword of two")
        indexed(daemon, 2)
        assert b"secretword" in index_bytes(daemon)
        wait_until(lambda: ask(daemon, "DELETE", run_path("r1"))[0] in (200, 204), "the deletion")
        wait_until(lambda: b"secretword" not in index_bytes(daemon), "the index")
        assert hits(daemon, "secretword") == []
        assert hits(daemon, "otherword") == [("r2", "r2-e0")]


def test_a_run_deleted_while_digd_was_off_leaves_the_index(tmp_path):
    daemon = Daemon(tmp_path, ON)
    with daemon:
        say(daemon, "r1", "the secretword of one")
        indexed(daemon, 1)
        daemon.stop()
        kept = {file.name: file.read_bytes() for file in daemon.data.glob("search.db*")}
        daemon.start()
        wait_until(lambda: ask(daemon, "DELETE", run_path("r1"))[0] in (200, 204), "the deletion")
        daemon.kill()
        for file in daemon.data.glob("search.db*"):
            file.unlink()
        for name, content in kept.items():  # the index as it was before the deletion
            (daemon.data / name).write_bytes(content)
        daemon.start()
        wait_until(lambda: b"secretword" not in index_bytes(daemon), "the index")


def test_the_index_is_built_from_the_archive_and_removed_when_turned_off(tmp_path):
    daemon = Daemon(tmp_path)
    with daemon:
        say(daemon, "r1", "an old zebra")
        daemon.stop()
        daemon.config.write_text(ON)
        daemon.start()
        indexed(daemon, 1)
        assert hits(daemon, "zebra") == [("r1", "r1-e0")]
        daemon.stop()
        daemon.config.write_text("")
        daemon.start()
        assert not list(daemon.data.glob("search.db*"))


def test_a_full_index_loses_a_tenth_at_once(tmp_path):
    """Each removal merges the whole index, so one for each new run would cost far too much."""
    limit = 1_000_000
    with Daemon(tmp_path, f"[payloads]\nsearch_bytes = {limit}\n") as daemon:
        for run in range(200):
            say(daemon, f"r{run}", " ".join(f"word{run}x{i}" for i in range(1_500)))
            indexed(daemon, run + 1)
            wait_until(lambda: metric(daemon, "digd_search_bytes") <= limit, "room")
            if metric(daemon, "digd_search_dropped_runs_total") > 0:
                break
        wait_until(lambda: metric(daemon, "digd_search_bytes") <= limit * 0.9, "a tenth")
        assert metric(daemon, "digd_search_dropped_runs_total") < run / 2
        assert hits(daemon, f"word{run}x7") and not hits(daemon, "word0x7")


def test_the_index_of_a_newer_archive_is_built_again(tmp_path):
    daemon = Daemon(tmp_path, ON)
    with daemon:
        say(daemon, "r1", "an old zebra")
        daemon.stop()
        (archive,) = daemon.data.glob("digd.sqlite")
        older = archive.read_bytes()
        daemon.start()
        say(daemon, "r2", *["a lost gnu"] * 9)
        indexed(daemon, 9)
        daemon.stop()
        archive.write_bytes(older)
        daemon.start()
        say(daemon, "r3", "a new okapi")
        wait_until(lambda: hits(daemon, "okapi") == [("r3", "r3-e0")], "the new text")
        assert hits(daemon, "zebra") == [("r1", "r1-e0")] and hits(daemon, "gnu") == []


def test_redacted_texts_are_not_indexed(tmp_path):
    with Daemon(tmp_path, ON + "redact = ['sk-[0-9a-z]+']\n") as daemon:
        say(daemon, "r1", "the key is sk-0123456789abcdef indeed")
        indexed(daemon, 1)
        assert hits(daemon, "0123456789abcdef") == []
        assert hits(daemon, "redacted indeed") == [("r1", "r1-e0")]
        assert b"0123456789abcdef" not in index_bytes(daemon)


def test_a_full_index_drops_the_oldest_run(tmp_path):
    with Daemon(tmp_path, "[payloads]\nsearch_bytes = 200000\n") as daemon:
        for run in range(4):
            say(daemon, f"r{run}", *(f"zebra word{run}x{i} " + "filler " * 200 for i in range(30)))
        indexed(daemon, 120)
        wait_until(lambda: metric(daemon, "digd_search_dropped_runs_total") > 0, "a dropped run")
        wait_until(lambda: hits(daemon, "word3x29") == [("r3", "r3-e29")], "the newest run")
        assert hits(daemon, "word0x0") == []


def test_a_token_for_some_runs_finds_only_in_these(tmp_path):
    def runs_found(token, more=""):
        status, body = status_of(daemon, "/v1/search?q=zebra" + more, TOKENS[token][0])
        return sorted(hit["run"] for hit in json.loads(body)["hits"]) if status == 200 else None

    with guarded(tmp_path, ON) as daemon:
        for run in ("prod-1", "other"):
            with daemon.client(run, agents=["a"], token=TOKENS["all"][0]) as c:
                c.event("e1", ["a"], event={"payload": "a zebra"})
                c.wait_acked()
        wait_until(lambda: runs_found("all") == ["other", "prod-1"], "the index")
        assert status_of(daemon, "/v1/search?q=zebra", TOKENS["fleet"][0])[0] == 403
        assert status_of(daemon, "/v1/search?q=zebra&run=other", TOKENS["watcher"][0])[0] == 403
        assert runs_found("watcher") == runs_found("watcher", "&run=prod-1") == ["prod-1"]
