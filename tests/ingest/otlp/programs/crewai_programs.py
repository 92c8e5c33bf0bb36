"""CrewAI programs to record: HEALTHY ones end as their author meant, BROKEN ones do not."""

import os

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")

from crewai import Agent, BaseLLM, Crew, Process, Task  # noqa: E402


class Fake(BaseLLM):
    def __init__(self, answer):
        super().__init__(model="fake")
        self.answer = answer

    def call(self, *_, **__):
        if isinstance(self.answer, Exception):
            raise self.answer
        return "Thought: I now can give a great answer\nFinal Answer: " + self.answer


def agent(role, answer):
    return Agent(
        role=role, goal="help", backstory="an agent", llm=Fake(answer), allow_delegation=False, max_retry_limit=0
    )


def task(agent, **options):
    return Task(description="work of " + agent.role, expected_output="a text", agent=agent, **options)


def sequence():
    researcher, writer = agent("researcher", "facts"), agent("writer", "a text")
    Crew(agents=[researcher, writer], tasks=[task(researcher), task(writer)], process=Process.sequential).kickoff()


def parallel_tasks_and_join():
    """Two concurrent tasks; a third has both as its context."""
    law, facts, writer = agent("law", "laws"), agent("facts", "facts"), agent("writer", "a text")
    first, second = task(law, async_execution=True), task(facts, async_execution=True)
    Crew(agents=[law, facts, writer], tasks=[first, second, task(writer, context=[first, second])]).kickoff()


def same_agent_twice():
    writer = agent("writer", "a text")
    Crew(agents=[writer], tasks=[task(writer), task(writer)]).kickoff()


def model_fails():
    researcher, writer = agent("researcher", "facts"), agent("writer", ConnectionError("the model is away"))
    try:
        Crew(agents=[researcher, writer], tasks=[task(researcher), task(writer)]).kickoff()
    except Exception:
        pass


HEALTHY = (sequence, parallel_tasks_and_join, same_agent_twice)
BROKEN = (model_fails,)
