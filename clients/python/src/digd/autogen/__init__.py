"""digd for AutoGen (`autogen-core`, `autogen-agentchat`). docs/integrations/autogen.md.

    async with digd.Run() as run:
        team = digd.autogen.instrument(team, run)  # watches the team's own run() and run_stream()
        runtime = digd.autogen.Runtime(run)        # instead of SingleThreadedAgentRuntime()
"""

from ..line import GivenBack
from .calls import discard, notes, wait
from .notes import NoPlaceForNote, add_note
from .runtime import Runtime
from .teams import instrument

__all__ = ["GivenBack", "NoPlaceForNote", "Runtime", "add_note", "discard", "instrument", "notes", "wait"]
