# Wherry: the transports of httpx
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect

import wherry

from ._messages import renamed_request

ASGITransport = wherry.ASGITransport
WSGITransport = wherry.WSGITransport
BaseTransport = wherry.BaseTransport
AsyncBaseTransport = wherry.AsyncBaseTransport


class MockTransport(wherry.MockTransport):
    """Hands its handler requests whose URL has the parts of `httpx.URL`."""

    def __init__(self, handler):
        if inspect.iscoroutinefunction(handler):

            async def asynchronous(request):
                return await handler(renamed_request(request))

            super().__init__(asynchronous)
        else:
            super().__init__(lambda request: handler(renamed_request(request)))
