# Wherry: both caches
# SPDX-License-Identifier: Apache-2.0
"""python3 caching.py BASE FOLDER: shows what comes from where"""

import sys
from typing import List

import wherry


def told(what: str, answer: wherry.Response) -> None:
    words = [name for name in ("from_cache", "is_stale", "is_revalidated") if getattr(answer, name)]
    print(what, answer.json()["n"], *words)


def main(base: str, folder: str) -> int:
    # guide: begin timed
    with wherry.Client(base_url=base, storage_directory=folder) as client:
        told("asked", client.get("news", cache=60))  # kept for a minute, whatever the server says
        told("again", client.get("news", cache=60))
        told("fresh", client.get("news", cache=60, cache_policy="refresh"))
        # guide: end timed
        # guide: begin then
        stored: List[wherry.Response] = []
        answer = client.get("news", cache=60, on_cached=stored.append)  # at once, and then anew
        # guide: end then
        told("first", stored[0])
        told("then", answer)
        # guide: begin manage
        for entry in client.cache.entries("news"):
            print(entry.method, entry.store, entry.status_code)
        print("cleared", client.cache.clear("news"))
        # guide: end manage
    # guide: begin http
    with wherry.Client(base_url=base, storage_directory=folder, cache=True) as client:
        told("asked", client.get("feed"))
        told("validated", client.get("feed"))
        told("down", client.get("feed", stale_if_error=3600))  # an old answer beats none
        # guide: end http
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
