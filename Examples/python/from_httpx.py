# Wherry: what a program that uses httpx does, with Wherry
# SPDX-License-Identifier: Apache-2.0
"""python3 from_httpx.py"""

import asyncio
from typing import Any, Generator

import wherry


# guide: begin flow
class Token(wherry.Auth):
    def __init__(self, token: str) -> None:
        self.token = token

    def auth_flow(self, request: wherry.SentRequest) -> Generator[wherry.SentRequest, wherry.Response, None]:
        request.headers["X-Token"] = self.token
        response = yield request
        if response.status_code == 401:
            renewed = yield wherry.SentRequest("POST", "https://api.test/token")
            self.token = renewed.json()["token"]
            request.headers["X-Token"] = self.token
            yield request
            # guide: end flow


# guide: begin handler
def handle(request: wherry.SentRequest) -> wherry.Response:
    if request.url.endswith("/token"):
        return wherry.Response(200, json={"token": "new"})
    if request.headers.get("X-Token") == "old":
        return wherry.Response(401)
    return wherry.Response(200, json={"path": request.url, "body": request.text})


def main() -> None:
    with wherry.Client(
        base_url="https://api.test/v1/",
        transport=wherry.MockTransport(handle),
        event_hooks={"response": [wherry.Response.raise_for_status]},
    ) as client:
        print(client.post("notes", json={"text": "hello"}).json())
        # guide: end handler
        response = client.get("notes", auth=Token("old"))
        print([earlier.status_code for earlier in response.history], response.request.headers["X-Token"])


# guide: begin asgi
async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


async def mounted() -> None:
    mounts = {"all://app.test": wherry.ASGITransport(app)}  # the rest goes to the network
    async with wherry.AsyncClient(mounts=mounts) as client:
        print((await client.get("http://app.test/hello")).text)
        # guide: end asgi


if __name__ == "__main__":
    main()
    asyncio.run(mounted())
