# Wherry: an API client with token refresh, a cache, and paging
# SPDX-License-Identifier: Apache-2.0
"""Lists the books of a library server.

    API_ID=me API_SECRET=... python3 api_client.py https://api.example.org/v1 --token-file token

The token file and the cache are kept between runs. An expired token is refreshed once, even if
several requests got a 401.
"""

import argparse
import os
import pathlib
import sys
from dataclasses import dataclass, field
from typing import Iterator, Optional

import wherry


# guide: begin model
@dataclass
class Book:
    id: int
    title: str = ""
    author: str = field(default="unknown", metadata=wherry.at("author/name"))
    # guide: end model


class Library:
    """The API: all URLs in one place."""

    def __init__(self, base: str, token_file: pathlib.Path) -> None:
        self._token_file = token_file
        token = token_file.read_text().strip() if token_file.exists() else ""
        # guide: begin client
        self.client = wherry.Client(
            base_url=base,
            auth=wherry.Bearer(token) if token else None,
            cache=True,  # HTTP cache in ~/.cache/wherry/books
            storage_name="books",
            max_retries=2,
            refresh_token=self._sign_in,  # called once for all requests that got a 401
        )
        # guide: end client

    # guide: begin token
    def _sign_in(self, refused: wherry.Response) -> Optional[str]:
        """Requests a new token (RFC 6749, section 4.4); None keeps the 401."""
        response = self.client.post(
            "token",
            data={"grant_type": "client_credentials"},
            auth=(os.environ["API_ID"], os.environ["API_SECRET"]),
        )
        if not response.ok:
            return None
        token: str = response.json()["access_token"]
        self._keep(token)
        return token
        # guide: end token

    def _keep(self, token: str) -> None:
        with open(self._token_file, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(token)

    def user(self) -> wherry.Response:
        return self.client.get("me").raise_for_status()

    def books(self) -> Iterator[Book]:
        # guide: begin pages
        with self.client.pages(
            "books",
            type=Book,
            items="books",
            parameter="page",
            first_page=1,
            end="has_next",
            end_path="more",
            prefetch=2,  # loads two pages while one is printed
        ) as pages:
            yield from pages
        # guide: end pages


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", help="base URL of the API")
    parser.add_argument("--token-file", type=pathlib.Path, default=pathlib.Path("token"))
    options = parser.parse_args()
    missing = [name for name in ("API_ID", "API_SECRET") if name not in os.environ]
    if missing:
        print(f"set {' and '.join(missing)}", file=sys.stderr)
        return 2
    library = Library(options.base, options.token_file)
    with library.client:
        try:
            user = library.user()
            whence = " (from the cache)" if user.from_cache else ""
            print(f"signed in as {user.json()['name']}{whence}")
            for book in library.books():
                print(f"{book.id}: {book.title}, by {book.author}")
        except (wherry.WherryError, OSError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
