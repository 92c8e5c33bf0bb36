"""AutoGen's group chats under digd: rules that a chat can break, and texts of healing that speakers' models read."""

from dataclasses import dataclass

import digd
import digd.autogen
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import HandoffMessage
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat, Swarm
from autogen_core import FunctionCall, MessageContext, RoutedAgent, TopicId, TypeSubscription, message_handler
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

from client_helpers import async_test, unused_address, url_of
from framework_runs import WINDOW_MS, fired, read_run

INFO = ModelInfo(
    vision=False, function_calling=True, json_output=False, structured_output=False, family=ModelFamily.UNKNOWN
)


@dataclass
class Ask:
    content: str


class Seen(ReplayChatCompletionClient):
    """The package's fake model. It keeps its prompts."""

    def __init__(self, *replies):
        super().__init__(list(replies), model_info=INFO)
        self.prompts = []

    async def create(self, messages, **options):
        self.prompts.append("\n".join(str(m.content) for m in messages))
        return await super().create(messages, **options)


def tools(*names):
    calls = [FunctionCall(id=f"call-{n}", name=n, arguments="{}") for n in names]
    free = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(finish_reason="function_calls", content=calls, usage=free, cached=False)


def agent(name, *replies, **options):
    return AssistantAgent(name, Seen(*replies), **options)


def read_by(speaker, call=-1):
    return speaker._model_client.prompts[call]


@async_test
async def test_a_chat_without_turns_left_gets_a_text_to_submit(shared_daemon):
    writer, critic = agent("writer", "a draft", "a better draft"), agent("critic", "not good", "DONE")
    rules = {"missing_termination": {"window_ms": WINDOW_MS, "max_attempts": 1}}
    async with digd.Run("chat-missing", mode="enforce", url=url_of(shared_daemon), rules=rules) as run:
        runtime = digd.autogen.Runtime(
            run, is_answer=lambda result: "DONE" in result.stop_reason, wait_for_healing_ms=20000
        )
        done = TextMentionTermination("DONE")
        team = RoundRobinGroupChat([writer, critic], termination_condition=done, max_turns=2, runtime=runtime)
        result = await runtime.run_team(team, task="Write it.")
    assert result.stop_reason.startswith("Text 'DONE'")
    assert "submit the final answer now" in read_by(critic) and "submit the final" not in read_by(critic, 0)
    found, *_ = fired(shared_daemon, "chat-missing", "missing_termination")
    assert found["healed"] and found["agent"] == "critic"


@async_test
async def test_a_task_that_is_only_handed_around_gets_a_text(shared_daemon):
    ring = {"ann": "bob", "bob": "cid", "cid": "ann"}
    passes = {name: tools(f"transfer_to_{to}") for name, to in ring.items()}
    team = [
        agent(name, passes[name], "I do it. DONE" if name == "cid" else passes[name], handoffs=[to])
        for name, to in ring.items()
    ]
    async with digd.Run("chat-passed", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        swarm = Swarm(team, termination_condition=TextMentionTermination("DONE"), runtime=runtime)
        result = await runtime.run_team(swarm, task="Who does this?")
    assert result.messages[-1].source == "cid"
    assert "Do not pass it on again" in read_by(team[2]) and not any("Do not pass" in read_by(a, 0) for a in team)
    (found,) = fired(shared_daemon, "chat-passed", "excessive_rerouting")
    assert found["healed"]


@async_test
async def test_a_hand_off_to_a_missing_agent_returns_to_its_author(shared_daemon):
    lost = agent("triage", tools("transfer_to_refunds"), tools("transfer_to_billing"), handoffs=["refunds", "billing"])
    billing = agent("billing", "Your invoice is right. DONE")
    async with digd.Run("chat-orphan", mode="enforce", agents=["triage", "billing"], url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        swarm = Swarm([lost, billing], termination_condition=TextMentionTermination("DONE"), runtime=runtime)
        result = await runtime.run_team(swarm, task="My invoice is wrong.")
    assert result.messages[-1].source == "billing" and "reached nobody" in read_by(lost)
    (found,) = fired(shared_daemon, "chat-orphan", "orphaned_event")
    assert found["healed"] and found["evidence"] == ["refunds"]


@async_test
async def test_two_results_of_one_task_give_the_next_speaker_a_text(shared_daemon):
    lead, ann, bob = agent("lead", "Count them."), agent("ann", "7"), agent("bob", "8")
    editor = agent("editor", "It is 8.")
    graph = DiGraphBuilder()
    for a in (lead, ann, bob, editor):
        graph.add_node(a)
    graph.add_edge(lead, ann).add_edge(lead, bob).add_edge(ann, editor).add_edge(bob, editor)
    rules = {"repeated_subproblem": {"mode": "enforce"}}
    async with digd.Run("chat-repeated", mode="enforce", rules=rules, url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        flow = GraphFlow([lead, ann, bob, editor], graph.build(), runtime=runtime)
        await runtime.run_team(flow, task="How many?")
    assert "Do not count both results" in read_by(editor)
    (found,) = fired(shared_daemon, "chat-repeated", "repeated_subproblem")
    assert found["healed"]


@async_test
async def test_a_hand_off_to_a_person_stays_open_until_the_person_answers(shared_daemon):
    clerk = agent("clerk", tools("transfer_to_user"), "Thank you. DONE", handoffs=[Handoff(target="user")])
    async with digd.Run("chat-person", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        swarm = Swarm(
            [clerk], termination_condition=HandoffTermination("user") | TextMentionTermination("DONE"), runtime=runtime
        )
        first = await runtime.run_team(swarm, task="Book it.")
        assert first.messages[-1].target == "user"
        last = await runtime.run_team(swarm, task=HandoffMessage(source="user", target="clerk", content="Monday"))
    assert "DONE" in last.messages[-1].content
    activations = [n["agent"] for n in read_run(shared_daemon, "chat-person/graph")["activations"]]
    assert activations == ["clerk", "user", "user", "clerk"]  # the person takes it up, and acts later
    assert not read_run(shared_daemon, "chat-person/detections")["detections"]


@async_test
async def test_the_answer_of_a_chat_is_given_back_while_other_work_waits(shared_daemon):
    class Archive(RoutedAgent):
        @message_handler
        async def on_text(self, message: Ask, ctx: MessageContext) -> None:
            digd.autogen.wait()

    writer, critic = agent("writer", "a draft", "never read"), agent("critic", "DONE", "really DONE")
    rules = {"early_termination": {"max_attempts": 1}}
    async with digd.Run("chat-early", mode="enforce", url=url_of(shared_daemon), rules=rules) as run:
        runtime = digd.autogen.Runtime(run)
        await Archive.register(runtime, "archive", lambda: Archive("keeps"))
        await runtime.add_subscription(TypeSubscription("archive", "archive"))
        await runtime.publish_message(Ask("Look it up."), TopicId("archive", "default"))
        done = TextMentionTermination("DONE", sources=["critic"])
        team = RoundRobinGroupChat([writer, critic], termination_condition=done, runtime=runtime)
        result = await runtime.run_team(team, task="Write it.")
    assert result.messages[-1].content == "really DONE"
    assert "was not accepted yet" in read_by(critic) and len(writer._model_client.prompts) == 1
    healed = [f["healed"] for f in fired(shared_daemon, "chat-early", "early_termination")]
    assert healed == [True, False]


@async_test
async def test_a_chat_behaves_as_without_digd_if_nothing_is_healed(shared_daemon):
    async def chat(runtime, run=None):
        speakers = [agent("writer", "a draft", "a better draft"), agent("critic", "not good", "DONE")]
        done = TextMentionTermination("DONE") | MaxMessageTermination(9)
        team = RoundRobinGroupChat(speakers, termination_condition=done, runtime=runtime)
        result = await (team.run(task="Write it.") if runtime is None else runtime.run_team(team, task="Write it."))
        return [(m.source, m.content) for m in result.messages], result.stop_reason

    async with digd.Run("chat-plain", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        watched = await chat(runtime)
    async with digd.Run("chat-alone", url=unused_address()) as run:
        runtime = digd.autogen.Runtime(run)
        alone = await chat(runtime)
    assert watched == alone == await chat(None)
    graph = read_run(shared_daemon, "chat-plain/graph")
    assert [a["agent"] for a in graph["activations"]] == ["writer", "critic", "writer", "critic"]
    assert not read_run(shared_daemon, "chat-plain/detections")["detections"]


@async_test
async def test_a_failed_speaker_ends_the_chat_and_leaves_nothing_open(shared_daemon):
    async with digd.Run("chat-failed", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        team = RoundRobinGroupChat([agent("writer")], max_turns=3, runtime=runtime)  # its model has no reply left
        with pytest.raises(RuntimeError, match="No more mock responses"):
            await runtime.run_team(team, task="Write it.")
    failed, noticed = read_run(shared_daemon, "chat-failed/graph")["activations"]
    assert failed["failed"] and noticed["inputs"][0]["reaction"] == "consume"
    assert not read_run(shared_daemon, "chat-failed/detections")["detections"]


@async_test
async def test_a_reset_team_has_no_earlier_inputs(shared_daemon):
    async with digd.Run("chat-reset", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        team = RoundRobinGroupChat(
            [agent("writer", "a draft", "DONE"), agent("critic")],
            runtime=runtime,
            termination_condition=TextMentionTermination("DONE"),
            max_turns=1,
        )
        runtime.start()
        await team.run(task="Write it.")
        await team.reset()
        await runtime.run_team(team, task="Write something else.")
    graph = read_run(shared_daemon, "chat-reset/graph")
    assert [len(a["inputs"]) for a in graph["activations"]] == [1, 1]
    assert [(e["source"], e.get("fyi"), e.get("submit")) for e in graph["events"]] == [
        (None, None, None),
        ("v1", None, True),
        (None, None, None),
        ("v2", None, True),
    ]


@async_test
async def test_a_team_within_a_team_gets_a_request_and_answers(shared_daemon):
    async with digd.Run("chat-within", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        desk = RoundRobinGroupChat(
            [agent("ann", "a draft"), agent("bob", "a better draft")], max_turns=2, name="desk", runtime=runtime
        )
        done = TextMentionTermination("DONE")
        team = RoundRobinGroupChat([desk, agent("critic", "DONE")], termination_condition=done, runtime=runtime)
        result = await runtime.run_team(team, task="Write it.")
    assert [m.source for m in result.messages] == ["user", "ann", "bob", "critic"]
    graph = read_run(shared_daemon, "chat-within/graph")
    agents = {a["id"]: a["agent"] for a in graph["activations"]}
    deliveries = [(agents.get(e["source"]), *(d["agent"] for d in e["deliveries"])) for e in graph["events"]]
    expected = [(None, "desk"), ("desk", "ann"), ("ann", "bob"), ("bob", "desk"), ("desk", "critic"), ("critic",)]
    assert deliveries == expected
    assert not read_run(shared_daemon, "chat-within/detections")["detections"] and run.counters.errors == {}
