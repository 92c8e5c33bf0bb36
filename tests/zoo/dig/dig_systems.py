"""Healthy systems on the paper's library, in the shapes of its own examples and of the paper."""

import asyncio
import threading

from dig_attach import Agent, DIGActivation, DIGEvent, DIGGraph, Label, Reaction, Team, watched
from zoo import healthy


@healthy("dig chain that ends with a message")
def chain(probe):
    with watched(probe, Team(probe, "planner", "worker", "verifier")) as team:
        team.task("start", "planner")
        team.send("planner", worker="draft plan")
        team.send("worker", verifier="worked from plan")
        team.send("verifier", planner="verified")
    return team.graph.events["e4"].payload


@healthy("dig count split over workers, whose aggregator waits")
def counting(probe):
    with watched(probe, Team(probe, "coordinator", "w1", "w2", "w3", "aggregator")) as team:
        team.task("abcabc", "coordinator")
        team.send("coordinator", w1="ab", w2="ca", w3="bc")
        for worker in ("w1", "w2"):
            team.send(worker, aggregator=f"count of {worker}")
            team.wait("aggregator")
        team.send("w3", aggregator="count of w3")
        team.submit("aggregator", "2 of each", "coordinator")
    return list(team.graph.events)


@healthy("dig stages with a reroute to a free colleague")
def stages(probe):
    with watched(probe, Team(probe, "reviewer", "a1", "a2")) as team:
        team.task("how do agents coordinate?", "reviewer")
        for stage in ("survey", "analyze", "write up"):
            team.send("reviewer", a1=f"{stage} 1", a2=f"{stage} 2")
            if stage == "survey":
                team.reroute("a1", team.agents["a1"].pending[0], "a2")
            else:
                team.send("a1", reviewer=f"{stage} by a1")
            team.send("a2", reviewer=f"{stage} by a2")
            if stage == "write up":
                team.submit("reviewer", "all three stages", "reviewer")
            else:
                team.send("reviewer", reviewer=f"digest of {stage}")
    return len(team.graph.events)


@healthy("dig router")
def router(probe):
    with watched(probe, Team(probe, "router", "billing", "support")) as team:
        team.task("my invoice is wrong", "router")
        team.send("router", billing="invoice")
        team.submit("billing", "corrected")


@healthy("dig loop of a writer and a critic")
def loop(probe):
    with watched(probe, Team(probe, "writer", "critic")) as team:
        team.task("a poem", "writer")
        for turn in range(4):
            team.send("writer", critic=f"draft {turn}")
            if turn < 3:
                team.send("critic", writer=f"remark {turn}")
        team.submit("critic", "good enough")


@healthy("dig retry after a failure")
def retry(probe):
    with watched(probe, Team(probe, "caller", "answerer")) as team:
        team.task("call it", "caller")
        for attempt in range(2):
            try:
                with team.act("caller") as activation:
                    if attempt == 0:
                        raise TimeoutError("no model")
                    activation.outputs = [DIGEvent({"text": "called"}, ["answerer"])]
            except TimeoutError as error:
                probe.saw(str(error))
        team.graph.deliver(*activation.outputs)
        team.submit("answerer", "done")


@healthy("dig program that raises")
def raising(probe):
    with watched(probe, Team(probe, "a", "b")) as team:
        team.task("x", "a")
        team.send("a", b="y")
        team.submit("b", "z")
        raise RuntimeError("after the answer")


@healthy("dig handoff to a person who is an agent")
def person(probe):
    with watched(probe, Team(probe, "clerk", "person")) as team:
        team.task("refund me", "clerk")
        team.send("clerk", person="may I?")
        team.send("person", clerk="you may")
        team.submit("clerk", "refunded")


@healthy("dig two stages of map and reduce")
def two_stages(probe):
    with watched(probe, Team(probe, "lead", "m1", "m2", "reducer")) as team:
        team.task("books", "lead")
        for stage in (1, 2):
            team.send("lead", m1=f"{stage}.1", m2=f"{stage}.2")
            for worker in ("m1", "m2"):
                team.send(worker, reducer=f"{stage} by {worker}")
            if stage == 1:
                team.send("reducer", lead="first half")
        team.submit("reducer", "both halves")


@healthy("dig agent that acts for a long time while others act")
def long_work(probe):
    with watched(probe, Team(probe, "lead", "slow", "quick")) as team:
        team.task("go", "lead")
        team.send("lead", slow="long part", quick="short part")
        with team.act("slow") as activation:
            team.send("quick", lead="short part done")
            team.wait("lead")
            activation.outputs = [DIGEvent({"text": "long part done"}, ["lead"])]
        team.submit("lead", "both parts")


@healthy("dig reroute whose target is named after others have acted")
def late_reroute(probe):
    with watched(probe, Team(probe, "lead", "a", "b", "c")) as team:
        team.task("go", "lead")
        team.send("lead", a="for a", b="for b")
        event = team.agents["a"].pending[0]
        with team.act("a") as activation:
            activation.input_reactions = {event.id: Reaction(Label.REROUTE)}
        team.send("b", lead="done by b")
        team.graph.reroute_event(event, to=["c"], by=activation.id, from_recipients=[])
        team.send("c", lead="done by c")
        team.submit("lead", "all done")


@healthy("dig records made directly, without agents")
def direct(probe):
    with watched(probe, Team(probe)) as team:
        seen, out = DIGEvent({"task": "root"}), DIGEvent({"answer": "draft"}, ["reviewer"])
        team.graph.record_activation(DIGActivation("worker", [seen], [out]))
        team.graph.record_activation(
            DIGActivation("reviewer", [out], [DIGEvent({"answer": 42})], metadata={"dig": {"submitting": True}})
        )


@healthy("dig messages that another framework carries")
def carried(probe):
    """No message names a recipient. The agent that takes it in is the recipient."""
    with watched(probe, Team(probe)) as team:
        last = team.graph.record_event(DIGEvent({"text": "m0"}))
        for number, name in enumerate(("planner", "worker", "verifier"), 1):
            message = DIGEvent({"text": f"m{number}"})
            team.graph.record_activation(
                DIGActivation(name, [last], [message], metadata={"dig": {"submitting": name == "verifier"}})
            )
            last = message


@healthy("dig agent that joins late and one that leaves")
def roster(probe):
    with watched(probe, Team(probe, "lead", "helper")) as team:
        task = team.graph.record_event(DIGEvent({"text": "for the newcomer"}, ["newcomer"]))
        team.agents["newcomer"] = Agent("newcomer", team.graph)
        team.graph.deliver(task)
        del team.graph.agents["helper"]
        team.send("newcomer", lead="done")
        team.submit("lead", "thanks")


@healthy("dig moderator that discards a message")
def moderator(probe):
    with watched(probe, Team(probe, "moderator", "answerer")) as team:
        for text in ("spam", "question"):
            event = team.task(text, "moderator")
            with team.act("moderator") as activation:
                if text == "spam":
                    activation.input_reactions = {event.id: Reaction(Label.DISCARD)}
                else:
                    activation.outputs = [DIGEvent({"text": text}, ["answerer"])]
        team.graph.deliver(*activation.outputs)
        team.submit("answerer", "answer")


@healthy("dig library's own healer returns an event")
def healer(probe):
    with watched(probe, Team(probe, "a", "b", "c")) as team:
        event = team.task("go", "a")
        team.send("a", b="part")
        part = team.agents["b"].pending[0]
        act = team.graph.record_activation(
            DIGActivation("system", metadata={"dig": {"intervention": "orphaned_event"}})
        )
        part.metadata["message"] = "SYSTEM: handle it"
        team.graph.reroute_event(part, to=["c"], by=act.id)
        team.submit("c", "done")
    return [event.id, part.snapshot()]


@healthy("dig agents on an event loop", ordered=False)
async def event_loop(probe):
    async def work(name):
        with team.agents[name].activate() as activation:
            probe.call(name)
            await asyncio.sleep(0)
            activation.outputs = [DIGEvent({"text": name}, ["lead"])]
        team.graph.deliver(*activation.outputs)

    with watched(probe, Team(probe, "lead", "a", "b", "c")) as team:
        team.task("go", "lead")
        team.send("lead", a="1", b="2", c="3")
        await asyncio.gather(*map(work, "abc"))
        team.submit("lead", "all")


@healthy("dig agents in threads", ordered=False)
def in_threads(probe):
    lock = threading.Lock()

    def work(name):
        with lock:
            team.send(name, lead=f"part of {name}")

    with watched(probe, Team(probe, "lead", "a")) as team:
        team.task("go", "lead")
        team.send("lead", a="1")
        thread = threading.Thread(target=work, args=("a",))
        thread.start()
        thread.join()
        team.submit("lead", "all")


@healthy("dig graph attached in the middle")
def midway(probe):
    team = Team(probe, "a", "b", "c")
    event = team.task("go", "a")
    team.reroute("a", event, "b")
    with watched(probe, team):
        team.send("b", c="half")
        team.submit("c", "whole")


@healthy("dig two graphs after each other")
def two_graphs(probe):
    for number in range(2):
        with watched(probe, Team(probe, "a")) as team:
            team.task(f"task {number}", "a")
            team.submit("a", f"answer {number}")
    return isinstance(team.graph, DIGGraph)
