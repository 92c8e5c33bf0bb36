"""The cancellation token of one handler call."""

from __future__ import annotations

import weakref

from autogen_core import CancellationToken


class CallToken(CancellationToken):
    """Ends with the token of the message, as the handler expects. digd can cancel it alone: then other agents continue.

    A handler that cancels it cancels the token of the message, as without digd. Use it in the thread of the event loop.
    """

    def __init__(self, of_message: CancellationToken) -> None:
        super().__init__()
        self._of_message = of_message
        this = weakref.ref(self)  # a chat's token outlives thousands of calls

        def follow() -> None:
            token = this()
            if token is not None:
                token.cancel_alone()

        of_message.add_callback(follow)

    def cancel(self) -> None:
        self._of_message.cancel()

    def cancel_alone(self) -> None:
        """Cancels what the handler linked to this token, and what it asked of others with it."""
        super().cancel()
