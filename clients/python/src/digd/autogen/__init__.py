"""digd for AutoGen (`autogen-core`, `autogen-agentchat`). docs/integrations/autogen.md.

    async with digd.Run("summary-7") as run:
        runtime = digd.autogen.Runtime(run)  # instead of SingleThreadedAgentRuntime()
"""

from ..line import GivenBack
from .notes import NoPlaceForNote, add_note
from .runtime import Runtime, discard, wait

__all__ = ["GivenBack", "NoPlaceForNote", "Runtime", "add_note", "discard", "wait"]
