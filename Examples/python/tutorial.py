# Wherry: the steps of the tutorial in Python
# SPDX-License-Identifier: Apache-2.0
"""python3 tutorial.py BASE IMAGE FOLDER, with the test server at BASE"""

import asyncio
import os
import sys

import wherry

base, image, folder = sys.argv[1:4]

# guide: begin get
response = wherry.get(f"{base}/echo", params={"page": 2})
print(response.status_code, response.json()["query"])
# guide: end get

# guide: begin errors
response = wherry.get(f"{base}/status/404", params={"body": "no such note"})
print(response.status_code, response.ok, response.text)
try:
    wherry.get("http://127.0.0.1:1/")
except wherry.WherryError as error:
    print(error.reason, error.retryable)  # error.message is a sentence for people
# guide: end errors

# guide: begin client
with wherry.Client(
    base_url=base,
    headers={"X-App": "tutorial"},
    timeout=5,
    max_retries=2,
) as client:
    note = client.post("echo", json={"text": "hello"})
    print(note.json()["json"])
    busy = client.get("faulty-echo", params={"status_first": 503})
    print(busy.status_code)  # the first response was 503
    # guide: end client

    # guide: begin cache
    for _ in range(2):
        print(client.get("json", cache=60).from_cache)
    # guide: end cache

    # guide: begin upload
    sent = client.upload("upload-photo", [image], quality=0.5, fields={"album": "Skye"})
    for result in sent.images:
        print(result.original_bytes, "bytes, sent as", result.encoded_bytes)
    # guide: end upload

    # guide: begin download
    digest = client.get("digest/20000000").text
    path = client.download(
        "bytes/20000000?rate=10000000",
        os.path.join(folder, "big.bin"),
        sha256=digest,
        progress=lambda p: print(f"\r{p.done_bytes} bytes", end="", file=sys.stderr),
    )
    print("complete:", os.path.getsize(path))
    # guide: end download


# guide: begin many
async def many() -> None:
    async with wherry.AsyncClient(base_url=base) as client:
        responses = await asyncio.gather(*[client.get("delay/100") for _ in range(20)])
    print(len(responses), {response.status_code for response in responses})


asyncio.run(many())
# guide: end many
