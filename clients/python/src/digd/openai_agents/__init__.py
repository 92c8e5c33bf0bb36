"""digd for the OpenAI Agents SDK (`openai-agents`). docs/integrations/openai-agents.md.

    async with digd.Run() as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(triage, "My invoice is wrong.")
"""

from ..line import GivenBack
from .team import Handed, Team, attach

__all__ = ["GivenBack", "Handed", "Team", "attach"]
