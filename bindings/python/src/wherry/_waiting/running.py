# Wherry: Shared logic for blocking and asyncio callers SPDX-License-Identifier: Apache-2.0
"""Runs logic that is written once for blocking and asyncio callers.

The logic is a generator. It yields the return value of each operation (an awaitable, if the
operation is asynchronous) and receives the result of the operation.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Generator, TypeVar

    Result = TypeVar("Result")
    Steps = Generator[Any, Any, Result]


def run(steps: Steps[Result]) -> Result:
    """Runs steps whose operations block."""
    value: Any = None
    try:
        while True:
            value = steps.send(value)
    except StopIteration as end:
        result: Result = end.value
        return result


async def run_async(steps: Steps[Result]) -> Result:
    """Runs steps whose operations may return awaitables."""
    send: Callable[[Any], Any] = steps.send
    value: Any = None
    while True:
        try:
            value = send(value)
        except StopIteration as end:
            result: Result = end.value
            return result
        try:
            send = steps.send
            if hasattr(value, "__await__"):
                value = await value
        except BaseException as error:
            send, value = steps.throw, error


async def in_thread(function: Callable[[], Result]) -> Result:
    """Runs a blocking function on a thread of the event loop's executor."""
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, function)
