# Wherry: what a program that uses requests does, with Wherry
# SPDX-License-Identifier: Apache-2.0
"""python3 from_requests.py BASE FOLDER"""

import asyncio
import pathlib
import sys
from typing import List

import wherry


def main(base: str, folder: pathlib.Path) -> int:
    # guide: begin session
    with wherry.Client(
        base_url=base,
        headers={"X-App": "demo"},
        auth=("me", "secret"),
        timeout=(5, 30),
        max_retries=3,
    ) as client:
        response = client.get("search", params={"q": "skye", "page": 2})
        response.raise_for_status()
        print(response.status_code, response.json(), response.headers["content-type"])
        # guide: end session

        # guide: begin live
        client.headers["X-Trace"] = "7"
        client.params["lang"] = "en"
        client.cookies["session"] = "abc"
        client.auth = wherry.Bearer("token")
        client.configure(max_retries=5)
        response = client.get("profile")
        print(response.request.headers["X-Trace"], response.url.partition("?")[2])
        client.get("profile", auth=None)  # without the credentials of the client
        # guide: end live

        # guide: begin bodies
        client.post("notes", json={"text": "hello"})
        client.post("form", data={"a": "1", "b": "2"})
        client.get("search?q=a", params="sort=a+b&lang=de")  # sent as written
        with open(folder / "notes.txt", "rb") as file:
            client.post("files", files={"file": file})
        # guide: end bodies

        # guide: begin large
        client.download("large", folder / "large.bin", overwrite=True)  # whole, or not there
        with client.stream("GET", "lines") as stream:
            for line in stream.iter_lines():
                print(line)
        # guide: end large

        # guide: begin responses
        response = client.get("old")  # redirected
        print(response.request.method, [hop.status_code for hop in response.history])
        print(dict(response.cookies), response.links["next"]["url"], response.http_version)
        if response:  # the same as response.ok
            print(response.status_code == wherry.codes.ok, response.reason_phrase)
        # guide: end responses

        # guide: begin errors
        try:
            client.get("missing").raise_for_status()
        except wherry.HTTPStatusError as error:
            print(error.http_status, error.request, error.response)
        except wherry.TimeoutError:
            print("too slow")
        except wherry.NetworkError as error:
            print("no connection:", error.reason)
        # guide: end errors
    return 0


# guide: begin async
async def many(base: str, paths: List[str]) -> List[int]:
    async with wherry.AsyncClient(base_url=base) as client:
        responses = await asyncio.gather(*[client.get(path) for path in paths])
    return [response.status_code for response in responses]
    # guide: end async


if __name__ == "__main__":
    code = main(sys.argv[1], pathlib.Path(sys.argv[2]))
    print(asyncio.run(many(sys.argv[1], ["search"] * 3)))
    sys.exit(code)
