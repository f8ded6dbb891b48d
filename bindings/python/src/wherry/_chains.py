# Wherry: requests of which each begins when the one before is done
# SPDX-License-Identifier: Apache-2.0
"""`Chain` and `AsyncChain`: a function adds what follows each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _codes as codes
from ._groups import AsyncGroup, BaseGroup, Group

if TYPE_CHECKING:
    from ._progress import Progress


class BaseChain(BaseGroup):
    """What both kinds of chains share."""

    _is_chain = True

    def __init__(
        self, client: Any, function: Callable[[Any, Any], Any],
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> None:  # fmt: skip
        super().__init__(client, codes.GROUP_CHAIN, progress)
        self._function = function
        self._is_stopped = False
        #: Steps that were sent.
        self._steps = 0

    def stop(self) -> None:
        """Leaves out the steps that were added and have not begun: the chain is done."""
        self._is_stopped = True

    def _check(self) -> None:
        """Steps are added on the way too, until the end."""
        if self._run is not None and self._run.done:
            super()._check()

    def _next(self, previous: Any, may_await: bool) -> Any:
        """Has the function add what follows; what is to be awaited for that, or None."""
        if self._is_stopped:
            return self._cut()
        following = self._function(self, previous)
        if not hasattr(following, "__await__"):
            return self._cut()
        if may_await:
            return self._awaited(following)
        if hasattr(following, "close"):
            following.close()
        raise TypeError("a coroutine function of a chain needs an AsyncClient")

    async def _awaited(self, following: Any) -> None:
        await following
        self._cut()

    def _cut(self) -> None:
        if self._is_stopped:
            del self._members[self._steps :]


class Chain(BaseChain, Group):
    """Requests of which each begins when the one before is done; made by `Client.chain`.

    ::

        def steps(chain, previous):
            if previous is None:
                chain.post("login", json=secret)
            elif previous.url.endswith("login"):
                chain.get("profile", auth=wherry.Bearer(previous.json()["token"]))

        login, profile = client.chain(steps).run()

    The function is called before the first step and after each, with what that brought: an answer,
    or the list of a group. What it adds follows; where nothing is left to do the chain is done. The
    first failure, a refusal too, ends it, and `run` raises its error, which names the step.
    """


class AsyncChain(BaseChain, AsyncGroup):
    """As `Chain`, with coroutines; made by `AsyncClient.chain`. The function may be a coroutine
    function."""


__all__ = ["AsyncChain", "Chain"]
