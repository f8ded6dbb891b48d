# Wherry: the timed cache and the HTTP cache
# SPDX-License-Identifier: Apache-2.0
"""python3 caching.py BASE FOLDER: shows which responses come from a cache"""

import sys
from typing import List

import wherry


def show(what: str, response: wherry.Response) -> None:
    names = ("from_cache", "is_stale", "is_revalidated")
    words = [name for name in names if getattr(response, name)]
    print(what, response.json()["n"], *words)


def main(base: str, folder: str) -> int:
    # guide: begin timed
    with wherry.Client(base_url=base, storage_directory=folder) as client:
        show("asked", client.get("news", cache=60))  # for a minute, whatever the server says
        show("again", client.get("news", cache=60))
        show("fresh", client.get("news", cache=60, cache_policy="refresh"))
        # guide: end timed
        # guide: begin then
        stored: List[wherry.Response] = []
        response = client.get("news", cache=60, on_cached=stored.append)  # the cached one first
        # guide: end then
        show("first", stored[0])
        show("then", response)
        # guide: begin manage
        for entry in client.cache.entries("news"):
            print(entry.method, entry.store, entry.status_code)
        print("cleared", client.cache.clear("news"))
        # guide: end manage
    # guide: begin http
    with wherry.Client(base_url=base, storage_directory=folder, cache=True) as client:
        show("asked", client.get("feed"))
        show("validated", client.get("feed"))
        show("down", client.get("feed", stale_if_error=3600))  # or a stale response
        # guide: end http
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
