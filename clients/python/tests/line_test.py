"""The parts that adapters share: mail, lines of activations, and the names of agents."""

import logging

import pytest
from agents import Agent
from autogen_core import AgentId
from client_helpers import async_test
from digd.adapter import short_name
from digd.autogen.agents import name_of as autogen_name
from digd.line import MAX_MAIL, InputEvent, Line, Mail
from digd.messages import Verdict
from digd.openai_agents.notes import name_of as openai_name


def test_mail_that_nobody_takes_drops_the_oldest_and_logs_that_once(caplog):
    mail = Mail()
    with caplog.at_level(logging.WARNING, "digd"):
        for i in range(MAX_MAIL + 3):
            mail.put("a", InputEvent(f"e{i}"))
        mail.put("b", InputEvent("f"))
    assert mail.dropped == 3 and [input.event for input in mail.take("a")][0] == "e3"
    (line,) = [record.getMessage() for record in caplog.records]
    assert "'a'" in line and "oldest are dropped" in line


@pytest.mark.parametrize(
    "name_of", [lambda name: openai_name(Agent(name=name)), lambda name: autogen_name(AgentId("t", name))]
)
def test_long_names_that_begin_alike_stay_distinct(name_of):
    names = [name_of("é" * 300 + end) for end in "xy"]
    assert len(set(names)) == 2 and all(len(name.encode()) <= 256 for name in names)


def test_a_name_is_what_the_daemon_receives():
    assert short_name("planner") == "planner"
    assert short_name("a\ud800") == "a?"


class Recorder:
    """A run that keeps the inputs of its activations, and the verdicts that were applied or not."""

    def __init__(self):
        self.begun, self.ended, self.reports = [], [], []

    def activation(self, agent, inputs):
        return Recorded(self, agent, tuple(inputs))

    def applied(self, event, verdict, *, as_is=None):
        self.reports.append((event, as_is))


class Recorded:
    def __init__(self, recorder, agent, inputs):
        self.recorder, self.agent, self.inputs, self.reactions = recorder, agent, inputs, {}

    def add_usage(self, usage):
        pass

    def wait(self, event):
        self.reactions[event] = "wait"

    def discard(self, event):
        self.reactions[event] = "discard"

    async def __aenter__(self):
        self.recorder.begun.append((self.agent, self.inputs))

    async def end(self, error=None):
        self.recorder.ended.append((self.inputs, error, self.reactions))


async def begun_line(run):
    """A line whose open activation of agent `a` has the input `e1`, with an unread note."""
    line = Line(run, Mail())
    line.add_input(InputEvent("e1", "text", Verdict("e1", "inject", ("a",), "text")))
    await line.begin("a")
    return line


@async_test
async def test_a_line_continues_with_its_answers_and_keeps_unread_notes():
    run = Recorder()
    line = await begun_line(run)
    line.add_input(InputEvent("e2"))
    await line.advance()
    assert run.begun == [("a", ("e1",)), ("a", ("e2",))] and line.notes == ["text"] and run.reports == []
    assert line.read_notes() == ["text"] == line.read_notes() and run.reports == [("e1", None)]
    await line.end("wait")
    assert run.ended[-1] == (("e2",), None, {"e2": "wait"})


@async_test
async def test_the_inputs_of_a_failed_line_are_inputs_again():
    run = Recorder()
    line = await begun_line(run)
    await line.fail("broken")
    assert run.ended == [(("e1",), "broken", {})] and run.reports == [("e1", "no model was called")]
    line.mail_unused_inputs("a", "an earlier text")
    await line.begin("a")
    assert run.begun[-1] == ("a", ("e1",)) and line.notes == ["an earlier text"]
