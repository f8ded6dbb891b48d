# Wherry: chains of requests
# SPDX-License-Identifier: Apache-2.0
"""`Chain` and `AsyncChain`: sequential requests. A function adds the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional

from .._native import codes
from .groups import AsyncGroup, BaseGroup, Group

if TYPE_CHECKING:
    from .._core.progress import Progress


class BaseChain(BaseGroup):
    """The common base of `Chain` and `AsyncChain`."""

    _is_chain = True

    def __init__(
        self, client: Any, function: Callable[[Any, Any], Any],
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> None:  # fmt: skip
        super().__init__(client, codes.GROUP_CHAIN, progress)
        self._function = function
        self._is_stopped = False
        #: The number of steps sent so far.
        self._steps = 0

    def stop(self) -> None:
        """Ends the chain after the current step. Steps that have not started are dropped."""
        self._is_stopped = True

    def _check(self) -> None:
        """Raises StateError if the chain has ended. Steps may be added while it runs."""
        if self._run is not None and self._run.done:
            super()._check()

    def _next(self, previous: Any, may_await: bool) -> Any:
        """Calls the function that adds the next step. Returns a coroutine to await, or None."""
        if self._is_stopped:
            return self._cut()
        following = self._function(self, previous)
        if not hasattr(following, "__await__"):
            return self._cut()
        if may_await:
            return self._awaited(following)
        if hasattr(following, "close"):
            following.close()
        raise TypeError("a coroutine function in a chain needs an AsyncClient")

    async def _awaited(self, following: Any) -> None:
        await following
        self._cut()

    def _cut(self) -> None:
        if self._is_stopped:
            del self._members[self._steps :]


class Chain(BaseChain, Group):
    """A sequence of requests, each sent when the previous one has finished. See `Client.chain`.

    ::

        def steps(chain, previous):
            if previous is None:
                chain.post("login", json=secret)
            elif previous.url.endswith("login"):
                chain.get("profile", auth=wherry.Bearer(previous.json()["token"]))

        login, profile = client.chain(steps).run()

    The function is called before the first step and after each step. It receives None, and then the
    result of the previous step: a response, or the list of results of a group. It adds the next steps.
    The chain ends when no steps are left.

    The first failure, including an error status, ends the chain. `run` raises its error, which names
    the step.
    """


class AsyncChain(BaseChain, AsyncGroup):
    """Like `Chain`, with coroutines. See `AsyncClient.chain`.

    The function may be a coroutine function.
    """
