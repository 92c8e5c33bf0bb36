"""A broken system on the paper's library for each rule. The library records past events, so none is healed."""

from dig_attach import DIGEvent, Label, Reaction, Team, watched
from zoo import broken


@broken("dig answer given before a colleague has finished", "early_termination")
def early(probe):
    with watched(probe, Team(probe, "lead", "a", "b")) as team:
        team.task("go", "lead")
        team.send("lead", a="part 1", b="part 2")
        team.send("a", lead="part 1 done")
        team.submit("lead", "answer without part 2")


@broken("dig message to an agent that does not exist", "orphaned_event")
def ghost(probe):
    with watched(probe, Team(probe, "a", "b")) as team:
        team.task("go", "a")
        team.send("a", b="part", ghost="lost")
        team.submit("b", "answer")


@broken("dig message to nobody", "orphaned_event")
def nobody(probe):
    with watched(probe, Team(probe, "a", "b")) as team:
        team.task("go", "a")
        with team.act("a") as activation:
            activation.outputs = [DIGEvent({"text": "lost"}), DIGEvent({"text": "part"}, ["b"])]
        team.submit("b", "answer")


@broken("dig question that agents pass around", "excessive_rerouting")
def hot_potato(probe):
    with watched(probe, Team(probe, "a", "b", "c")) as team:
        event = team.task("who knows?", "a")
        for sender, target in (("a", "b"), ("b", "c"), ("c", "a")):
            team.reroute(sender, event, target)
        team.submit("a", "nobody knows")


@broken("dig summary of parts with different origins", "cross_lineage_aggregation")
def clash(probe):
    with watched(probe, Team(probe, "a", "b", "c", "d", "writer")) as team:
        for lead, helper in (("a", "c"), ("b", "d")):
            team.task(f"problem of {lead}", lead)
            team.send(lead, writer=f"half of {lead}", **{helper: f"rest of {lead}"})
        for helper in ("c", "d"):
            team.send(helper, writer=f"rest of {helper}")
        team.submit("writer", "one answer to two problems")


@broken("dig task that two agents work on", "repeated_subproblem")
def twice(probe):
    with watched(probe, Team(probe, "ada", "bob", "cy")) as team:
        team.task("sum 1 to 10", "ada", "bob")
        for name in ("ada", "bob"):
            team.send(name, cy=f"55, says {name}")
        team.submit("cy", "55")


@broken("dig agents that wait for each other", "deadlock")
def deadlock(probe):
    with watched(probe, Team(probe, "a", "b")) as team:
        for name, other in (("a", "b"), ("b", "a")):
            team.task(f"work of {name}", name)
        with team.act("a") as first, team.act("b") as second:
            first.outputs, second.outputs = (
                [DIGEvent({"text": "you first"}, ["b"])],
                [DIGEvent({"text": "you first"}, ["a"])],
            )
        team.wait("a")
        team.wait("b")


@broken("dig task that nobody takes up", "deadlock")
def left_lying(probe):
    with watched(probe, Team(probe, "a", "b")) as team:
        team.task("first", "a")
        team.task("second", "b")
        with team.act("a") as activation:
            activation.input_reactions = {e.id: Reaction(Label.CONSUME) for e in activation.inputs}


@broken("dig work that ends without an answer", "missing_termination")
def nothing_submitted(probe):
    with watched(probe, Team(probe, "a", "b")) as team:
        team.task("go", "a")
        team.send("a", b="part")
        with team.act("b"):
            pass
