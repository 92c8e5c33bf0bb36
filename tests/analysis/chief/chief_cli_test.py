"""digctl attribute chief, eval, chief-train: output for good input, refusal of bad input."""

import json
import re
import sys
import xml.dom.minidom
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from chat_endpoint import Endpoint, completion, make_certificate, verdict  # noqa: E402
from live import Daemon  # noqa: E402

EVIL = "Cl\x1b[2J\u202eerk"
CONSTANTS = ["random", "first-speaker", "first-acting-step", "most-frequent-tool-agent", "last-tool-step"]


def step(name, content):
    return {"content": content, "role": "assistant", "name": name}


def boats(clerk="Clerk", **more):
    """A log in which the Clerk turns 12 into 21."""
    return {
        "question": "How many boats are there?",
        "question_ID": "q1",
        "ground_truth": "12",
        "mistake_agent": clerk,
        "mistake_step": "3",
        "history": [
            step("Reader", "```python\ncount()\n```"),
            step("Terminal", "exitcode: 0 (execution succeeded)\nCode output: boats=12"),
            step("Reader", "I count boats=12."),
            step(clerk, "So with boats=21 we go on."),
            step("Writer", "There are boats=21. TERMINATE"),
        ],
        **more,
    }


def mill(number):
    """A log of another question, as training data."""
    return {
        "question": f"How old is mill {number}?",
        "question_ID": f"m{number}",
        "ground_truth": "225",
        "mistake_agent": "Guesser",
        "mistake_step": 1,
        "history": [
            step("Reader", "I look for it."),
            step("Guesser", f"I assume the mill was built in {1700 + number}."),
            step("Checker", "I agree. TERMINATE"),
        ],
    }


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(boats()))
    return path


@pytest.fixture
def logs(tmp_path):
    """Two subsets, one with a hostile name."""
    folder = tmp_path / "logs"
    for subset, count in (("Plain", 4), ("<b>&\x1b[2J", 2)):
        (folder / subset).mkdir(parents=True)
        for n in range(count):
            (folder / subset / f"{n}.json").write_text(json.dumps(mill(10 * count + n)))
    (folder / "Plain" / "9.json").write_text(json.dumps(boats()))
    return folder


RUN = [
    {
        "type": "event",
        "event": {"id": "task", "recipients": ["planner"], "payload": {"text": "Count the boats and weigh the fish."}},
    },
    {"type": "activation_started", "activation": "a", "agent": "planner", "inputs": ["task"]},
    {
        "type": "activation_ended",
        "activation": "a",
        "outputs": [
            {"id": "count", "recipients": ["counter"], "payload": {"text": "Count the boats"}},
            {"id": "weigh", "recipients": ["weigher"], "payload": {"text": "Weigh the fish"}},
        ],
    },
    {"type": "activation_started", "activation": "b", "agent": "counter", "inputs": ["count"]},
    {
        "type": "activation_ended",
        "activation": "b",
        "outputs": [{"id": "boats", "recipients": ["clerk"], "payload": {"text": "boats=12"}}],
    },
    {"type": "activation_started", "activation": "c", "agent": "clerk", "inputs": ["boats"]},
    {
        "type": "activation_ended",
        "activation": "c",
        "outputs": [{"id": "sum", "recipients": ["planner"], "payload": {"text": "boats=21"}}],
    },
    {"type": "activation_started", "activation": "d", "agent": "weigher", "inputs": ["weigh"]},
    {"type": "activation_ended", "activation": "d", "failed": True, "error": "timeout"},
    {"type": "run_ended", "outcome": "failure"},
]


@pytest.fixture
def run_trace(tmp_path):
    hello = {"type": "hello", "protocol": 1, "run": "boats", "session": "main", "clock": "trace", "mode": "observe"}
    lines = [hello] + [{**m, "seq": k + 1, "ts": 10 * k} for k, m in enumerate(RUN)]
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def chief(digctl, *args, **options):
    return digctl("attribute", "chief", *args, **options)


def refused(got, *parts):
    assert got.returncode == 2 and got.stdout == "", got
    for part in parts:
        assert part in got.stderr, got.stderr


# ---- without a model


def test_the_first_corruption_is_named_with_its_chain(digctl, log):
    got = chief(digctl, log)
    assert got.returncode == 0, got.stderr
    assert "1. step 3, Clerk (proven; decided by: data-flow)" in got.stdout
    assert "turns boats=12 into boats=21 (steps 1, 3)" in got.stdout


def test_json_has_the_ranking_the_graph_and_the_backtracking(digctl, log):
    got = chief(digctl, log, "--format", "json", "--top", 2)
    whole = json.loads(got.stdout)
    assert len(whole["ranking"]) == 2
    first = whole["ranking"][0]
    assert (first["agent"], first["step"], first["decided_by"], first["proven"]) == ("Clerk", 3, "data-flow", True)
    assert set(whole["edges"]) == {"subtasks", "agents", "steps", "loops"}
    assert all({"bias", "anomaly"} == set(e["pattern"]) for e in whole["edges"]["agents"] + whole["edges"]["steps"])
    oracle = whole["subtasks"][0]["oracle"]
    assert set(oracle) == {"goal", "preconditions", "key_evidence", "acceptance"}
    assert {"observation", "thought", "action", "result"} <= set(whole["subtasks"][0]["agents"][0])
    assert 3 in whole["backtracking"]["steps"]
    assert whole["findings"] == [
        {"step": 3, "stage": "data-flow", "says": "turns boats=12 into boats=21", "steps": [1, 3]}
    ]


def test_a_trace_an_archive_and_a_daemon_give_the_same_answer(digctl, run_trace, tmp_path):
    from_file = chief(digctl, run_trace, "--format", "json")
    assert from_file.returncode == 0, from_file.stderr
    whole = json.loads(from_file.stdout)
    assert whole["ranking"][0]["event"] == "sum" and whole["ranking"][0]["agent"] == "clerk"
    # Each of the planner's two outputs begins a branch, which includes its descendants.
    names = {s["name"]: s["steps"] for s in whole["subtasks"]}
    assert names == {"Count the boats and weigh the fish.": [0], "Count the boats": [1, 3, 4], "Weigh the fish": [2, 5]}
    with Daemon(tmp_path / "d", "threads = 2\n") as daemon:
        assert digctl("send", run_trace, "--to", daemon.address, "--format", "jsonl").returncode == 0
        asked = chief(digctl, "boats", "--to", daemon.address, "--format", "json")
        assert asked.returncode == 0, asked.stderr
        refused(chief(digctl, "nobody", "--to", daemon.address), "nobody", "no such file")
        assert daemon.stop() == 0
    stored = chief(digctl, "boats", "--data-dir", daemon.data, "--format", "json")
    assert stored.returncode == 0, stored.stderr
    assert json.loads(asked.stdout) == json.loads(stored.stdout) == whole
    refused(chief(digctl, "nobody", "--data-dir", daemon.data), "there is no run", "nobody")
    refused(chief(digctl, "boats", "--data-dir", tmp_path), "there is no archive")


def test_an_imported_log_is_judged_like_the_log_itself(digctl, log, tmp_path):
    imported = tmp_path / "imported.jsonl"
    assert digctl("import", "whowhen", log, "-o", imported).returncode == 0
    whole = [json.loads(chief(digctl, path, "--format", "json").stdout) for path in (log, imported)]
    rankings = [[(s["agent"], s["step"], s["decided_by"]) for s in w["ranking"]] for w in whole]
    assert rankings[0] == rankings[1] and rankings[0][0] == ("Clerk", 3, "data-flow")


def test_a_run_that_succeeded_names_what_was_healed_and_no_culprit(digctl):
    demo = Path(__file__).parents[2] / "traces/demo.jsonl"
    text = digctl("attribute", "chief", demo).stdout.splitlines()
    assert text[0].startswith("The run succeeded; nobody is blamed. digd healed 3 × cross lineage aggregation, ")
    assert text[1] == "CHIEF assumes a run that failed: the list below shows where this run was weakest."
    verdict = json.loads(digctl("attribute", "chief", demo, "--format", "json").stdout)["verdict"]
    assert verdict == {"kind": "healed", "confidence": "none", "words": text[0]}


def test_standard_input_is_read(digctl, log, run_trace):
    assert "Clerk" in chief(digctl, "-", stdin=log.read_text()).stdout
    assert "clerk" in chief(digctl, "-", stdin=run_trace.read_text()).stdout


def test_control_characters_of_agents_never_reach_the_terminal(digctl, tmp_path):
    path = tmp_path / "evil.json"
    path.write_text(json.dumps(boats(EVIL)))
    got = chief(digctl, path)
    assert got.returncode == 0 and "step 3" in got.stdout
    assert "\x1b" not in got.stdout and "\u202e" not in got.stdout
    prompts = chief(digctl, path, "--dry-run", "--judge", "all-at-once").stdout
    assert "boats=21" in prompts and "\x1b" not in prompts and "\u202e" not in prompts


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "the file is empty"),
        ("not json", "expected"),
        ("{}", "history"),
        ('{"history": []}', "at least one step"),
        ('{"history": 3}', "history"),
        ('{"history": [7]}', "history[0]"),
        ('{"history": [{"role": "a"}]}', "content"),
        ('{"type":"hello","run":"r"}\n', "no event"),
        ('{"type":"hello","run":"r","labels":{"history":"yes"}}\n', "no event"),
        ('{"history": [{"role": "human", "content": "hi"}]}', "nobody to blame"),
    ],
)
def test_bad_input_is_refused_with_the_expected_form(digctl, tmp_path, text, says):
    path = tmp_path / "bad"
    path.write_text(text)
    refused(chief(digctl, path), str(path), says)


def test_lines_that_digd_would_refuse_are_counted(digctl, run_trace):
    run_trace.write_text(run_trace.read_text() + "{broken\n")
    got = chief(digctl, run_trace)
    assert got.returncode == 0
    assert "1 lines that digd would refuse are left out" in got.stderr


def test_wrong_usage_is_refused(digctl, log, tmp_path):
    refused(chief(digctl, tmp_path), "it is a folder")
    assert chief(digctl, log, "--top", 0).returncode != 0
    assert chief(digctl, log, "--judge", "oracle-of-delphi", "--dry-run").returncode != 0
    refused(chief(digctl, log, "--judge", "hybrid"), "--judge needs --llm")
    refused(chief(digctl, log, "--llm", "http://127.0.0.1:1/v1"), "--model NAME is needed")


# ---- with a model


def ask(digctl, log, endpoint, *args, **options):
    return chief(digctl, log, "--llm", endpoint.url, "--model", "m", "--llm-tries", 1, *args, **options)


def test_a_judge_is_asked_and_its_cost_is_printed(digctl, log, tmp_path):
    key = tmp_path / "key"
    key.write_text("from-the-file\n")
    with Endpoint(lambda _: verdict("Clerk", 3, others=[4])) as endpoint:
        got = ask(
            digctl, log, endpoint, "--judge", "all-at-once", "--llm-key-file", key, "--price-in", 10, "--price-out", 20
        )
        assert got.returncode == 0, got.stderr
        assert got.stdout == "agent Clerk, step 3, then 4\nso it is\n"
        assert "1 requests (0 retried, 0 failed), 0 answers from the cache, 100 + 10 tokens, cost 0.0012" in got.stderr
        ask(digctl, log, endpoint, "--judge", "all-at-once", env={"DIGD_LLM_KEY": "", "OPENAI_API_KEY": "common"})
        ask(digctl, log, endpoint, "--judge", "all-at-once", env={"DIGD_LLM_KEY": "own", "OPENAI_API_KEY": "common"})
        ask(digctl, log, endpoint, "--judge", "all-at-once", env={"DIGD_LLM_KEY": "", "OPENAI_API_KEY": ""})
    assert endpoint.keys == ["Bearer from-the-file", "Bearer common", "Bearer own", None]
    assert all("The right answer" not in p for p in endpoint.prompts)


def test_a_model_blames_nobody_in_a_run_that_succeeded(digctl):
    demo = Path(__file__).parents[2] / "traces/demo.jsonl"
    with Endpoint(lambda _: verdict("writer", 3)) as endpoint:
        text = ask(digctl, demo, endpoint, "--judge", "all-at-once").stdout
        machine = json.loads(ask(digctl, demo, endpoint, "--judge", "all-at-once", "--format", "json").stdout)
    assert text.startswith("The run succeeded; nobody is blamed. digd healed 3 × cross lineage aggregation, ")
    assert text.splitlines()[1].endswith("shows where this run was weakest.")
    assert machine["verdict"] == {"kind": "healed", "words": text.splitlines()[0]}


def test_the_right_answer_is_sent_only_if_requested_and_known(digctl, log, run_trace):
    with Endpoint(lambda _: verdict("Clerk", 3)) as endpoint:
        assert ask(digctl, log, endpoint, "--judge", "all-at-once", "--with-answer").returncode == 0
        refused(ask(digctl, run_trace, endpoint, "--with-answer"), "no ground_truth")
    assert len(endpoint.prompts) == 1 and "The right answer:\n12\n" in endpoint.prompts[0]


def test_chief_with_a_model_goes_through_seven_stages(digctl, log):
    with Endpoint(lambda _: verdict("Clerk", 3, stage="data-flow")) as endpoint:
        got = ask(digctl, log, endpoint, "--format", "json")
    answer = json.loads(got.stdout)
    assert (answer["agent"], answer["ranking"][0]["step"], answer["stood_in"]) == ("Clerk", 3, False)
    assert "decided by: data-flow" in answer["notes"]
    assert answer["graph"]["subtasks"][0]["steps"][0] == 0 and "steps" in answer["graph"]["edges"]
    assert len(endpoint.requests) == 7


def test_the_report_states_when_no_model_answered(digctl, log):
    with Endpoint(lambda _: (500, {}, b"")) as endpoint:
        got = ask(digctl, log, endpoint, "--format", "json")
        assert json.loads(got.stdout)["stood_in"] is True
        refused(ask(digctl, log, endpoint, "--judge", "all-at-once"), "the endpoint has a fault", "status 500")


@pytest.mark.parametrize(
    "answer, says",
    [
        ((200, {}, b"{"), "malformed"),
        ((200, {}, b"<html>"), "malformed"),
        ((401, {}, b"{}"), "status 401"),
        ((429, {"Retry-After": "1"}, b""), "limits the rate"),
        ((200, {"Content-Length": 5000}, b"{"), "cannot be reached"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), "status 302"),
        (completion('{"agent": "Cl', "length"), "cut off"),
        (completion("", "content_filter"), "declines"),
        (completion("I would rather not say."), "malformed"),
        (verdict("Nobody", 99), "decides on nothing"),
    ],
)
def test_bad_answers_end_in_a_named_error(digctl, log, answer, says):
    with Endpoint(lambda _: answer) as endpoint:
        refused(ask(digctl, log, endpoint, "--judge", "all-at-once", env={"DIGD_LLM_KEY": "sekrit"}), says)


def test_the_key_is_never_printed_or_cached(digctl, log, tmp_path):
    cache = tmp_path / "cache"
    with Endpoint(lambda _: verdict("Clerk", 3)) as endpoint:
        got = ask(digctl, log, endpoint, "--judge", "all-at-once", "--llm-cache", cache, env={"DIGD_LLM_KEY": "sekrit"})
        again = ask(digctl, log, endpoint, "--judge", "all-at-once", "--llm-cache", cache)
    assert len(endpoint.requests) == 1 and again.stdout == got.stdout
    assert "1 answers from the cache, 0 + 0 tokens" in again.stderr
    assert "sekrit" not in got.stdout + got.stderr + "".join(f.read_text() for f in cache.iterdir())


def test_a_key_is_never_sent_unencrypted(digctl, log):
    args = (log, "--model", "m", "--judge", "all-at-once", "--llm-tries", 1, "--llm-timeout", 1)
    for url in ("http://192.0.2.1/v1", "http://127.0.0.1.example/v1"):
        refused(chief(digctl, *args, "--llm", url, env={"DIGD_LLM_KEY": "sekrit"}), "would send the key unencrypted")


def test_certificates_are_checked(digctl, log, tmp_path):
    certificate, key = make_certificate(tmp_path)
    with Endpoint(lambda _: verdict("Clerk", 3), (certificate, key)) as endpoint:
        refused(ask(digctl, log, endpoint, "--judge", "all-at-once"), "cannot be reached")
        assert endpoint.requests == []
        assert ask(digctl, log, endpoint, "--judge", "all-at-once", "--llm-ca", certificate).returncode == 0
        assert len(endpoint.requests) == 1


def test_the_models_words_are_escaped(digctl, log):
    with Endpoint(lambda _: verdict("Clerk", 3, reason=EVIL)) as endpoint:
        got = ask(digctl, log, endpoint, "--judge", "all-at-once")
    assert got.returncode == 0 and "\x1b" not in got.stdout and "\u202e" not in got.stdout


def test_a_dry_run_sends_nothing_and_estimates_the_cost(digctl, log):
    with Endpoint(lambda _: verdict("Clerk", 3)) as endpoint:
        got = ask(digctl, log, endpoint, "--dry-run", "--price-in", 1000)
    assert got.returncode == 0 and endpoint.requests == []
    assert got.stdout.count("----\n") == 7 and "How many boats are there?" in got.stdout
    assert re.search(r"estimate: 7 requests .* cost [1-9]", got.stderr)
    assert chief(digctl, log, "--dry-run").returncode == 0  # no endpoint is needed


# ---- measuring and training


def test_figures_are_compared_with_the_constants_with_intervals(digctl, logs, tmp_path):
    svg = tmp_path / "chart.svg"
    got = digctl("eval", "whowhen", logs, "--cv", "--format", "json", "--svg", svg)
    assert got.returncode == 0, got.stderr
    figures = json.loads(got.stdout)
    assert set(figures.pop("difference_to chief (cv)")) == {*CONSTANTS} - {"random"}
    assert set(figures) == {"Plain", "<b>&\x1b[2J"}
    assert set(figures["Plain"]) == {*CONSTANTS, "chief (cv)"}
    chief_figures = figures["Plain"]["chief (cv)"]
    assert (
        chief_figures["n"] == 5
        and chief_figures["agent_interval"][0] <= chief_figures["agent"] <= chief_figures["agent_interval"][1]
    )
    assert (
        chief_figures["step"] <= chief_figures["step_within_1"] <= chief_figures["step_within_5"]
        and chief_figures["step"] <= chief_figures["top_3"] <= chief_figures["top_5"]
    )
    xml.dom.minidom.parse(str(svg))
    table = digctl("eval", "whowhen", logs, "--cv").stdout
    assert "\x1b" not in table and all(name in table for name in CONSTANTS)


def test_judges_are_measured_and_failures_count_as_wrong(digctl, logs):
    def reply(request):
        right = "boats" in request["messages"][1]["content"]
        return verdict("Clerk", 3) if right else completion("no idea")

    with Endpoint(reply) as endpoint:
        got = digctl(
            "eval",
            "whowhen",
            logs / "Plain",
            "--method",
            "all-at-once",
            "--llm",
            endpoint.url,
            "--model",
            "m",
            "--format",
            "json",
            "--with-answer",
            "--price-in",
            10_000,
        )
    judge_figures = json.loads(got.stdout)["Plain"]["all-at-once (with answer)"]
    assert (judge_figures["n"], judge_figures["without_answer"], judge_figures["agent"], judge_figures["step"]) == (
        5,
        4,
        0.2,
        0.2,
    )
    assert judge_figures["cost_per_case"] > 1 and judge_figures["tokens_per_case"] > 100
    assert got.stderr.count("malformed") == 4


def test_a_judge_of_the_shortlist_is_weighed_with_the_ranking_on_a_sample(digctl, logs):
    def reply(request):
        suspects = request["messages"][1]["content"].split("Only these steps are suspected: ")[1]
        return completion(json.dumps({"step": int(re.match(r"\d+", suspects)[0])}))

    with Endpoint(reply) as endpoint:
        options = ("--method", "shortlist", "--cv", "--sample", 3, "--llm", endpoint.url, "--model", "m")
        got = digctl("eval", "whowhen", logs, *options)
    assert got.returncode == 0, got.stderr
    assert len(endpoint.requests) == 3
    for row in ("shortlist", "chief + shortlist (cv)", "Difference to chief (cv) on the same 3 logs"):
        assert row in got.stdout
    assert "gave the judge a weight of" in got.stderr


def test_a_dry_run_of_eval_estimates_the_cost_without_figures(digctl, logs):
    got = digctl("eval", "whowhen", logs, "--method", "all-at-once", "--method", "binary-search", "--dry-run")
    assert got.returncode == 0 and "agent" not in got.stdout.splitlines()[-1]
    assert re.search(r"estimate: \d+ requests", got.stderr) and "95% intervals" not in got.stdout


def test_a_refused_key_stops_the_evaluation(digctl, logs):
    with Endpoint(lambda _: (401, {}, b"{}")) as endpoint:
        got = digctl("eval", "whowhen", logs, "--method", "all-at-once", "--llm", endpoint.url, "--model", "m")
    refused(got, "status 401", "nothing is measured")
    assert len(endpoint.requests) == 1


def test_planted_faults_are_found_and_depend_only_on_the_seed(digctl):
    options = ("--runs", 120, "--structure-runs", 3, "--format", "json")
    runs = [digctl("eval", "planted", "--seed", seed, *options) for seed in (5, 5, 6)]
    figures = [json.loads(r.stdout) for r in runs]
    for f in figures[:2]:
        for subset in f.values():
            for method in subset.values():
                method.pop("ms_per_case")
    assert figures[0] == figures[1]
    assert figures[0]["all"]["chief"]["agent"] >= 0.9 and figures[0]["all"]["chief"]["step"] >= 0.9
    assert len(figures[0]) == 9 + 8
    assert figures[0]["deadlock"]["structure game"]["n"] == 3


def test_training_writes_every_evaluators_weight_and_no_text_of_the_logs(digctl, logs, tmp_path):
    out = tmp_path / "weights.inc"
    assert digctl("chief-train", "--data", logs, "-o", out).returncode == 0
    text = out.read_text()
    committed = (HERE.parents[2] / "analysis/chief/weights.inc").read_text()
    names = re.compile(r'\{"(\w+)", "(\w+)", -?\d+\.\d{6}\},')
    assert names.findall(text) == names.findall(committed)
    assert "From 7 logs of 7 questions" in text and "boats" not in text
    again = digctl("chief-train", "--data", logs)
    assert again.stdout == text


@pytest.mark.parametrize("command", [("eval", "whowhen"), ("chief-train", "--data")])
def test_bad_folders_are_refused(digctl, logs, tmp_path, command):
    refused(digctl(*command, tmp_path / "none"), "none", "there is no such folder")
    (tmp_path / "empty").mkdir()
    refused(digctl(*command, tmp_path / "empty"), "it contains no *.json")
    unlabelled = boats()
    del unlabelled["mistake_agent"]
    (logs / "Plain" / "5.json").write_text(json.dumps(unlabelled))
    refused(digctl(*command, logs), "5.json", "mistake_agent")
