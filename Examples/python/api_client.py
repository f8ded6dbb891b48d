# Wherry: a client of an interface with tokens, a cache and lists in pages
# SPDX-License-Identifier: Apache-2.0
"""Lists the books of a library's server.

    API_ID=me API_SECRET=... python3 api_client.py https://api.example.org/v1 --token-file token

The token is kept between two runs, and so are the answers that the server lets be kept. A token
that has expired is replaced once, whatever number of requests met that.
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
    """The interface: everything that knows its URLs."""

    def __init__(self, base: str, token_file: pathlib.Path) -> None:
        self._token_file = token_file
        token = token_file.read_text().strip() if token_file.exists() else ""
        # guide: begin client
        self.client = wherry.Client(
            base_url=base,
            auth=wherry.Bearer(token) if token else None,
            cache=True,  # what the server allows, in ~/.cache/wherry/books
            storage_name="books",
            max_retries=2,
            refresh_token=self._sign_in,  # on a 401, once for all that met it
        )
        # guide: end client

    # guide: begin token
    def _sign_in(self, refused: wherry.Response) -> Optional[str]:
        """A new token by RFC 6749, section 4.4; None, and the 401 stands."""
        answer = self.client.post(
            "token",
            data={"grant_type": "client_credentials"},
            auth=(os.environ["API_ID"], os.environ["API_SECRET"]),
        )
        if not answer.ok:
            return None
        token: str = answer.json()["access_token"]
        self._keep(token)
        return token
        # guide: end token

    def _keep(self, token: str) -> None:
        with open(
            self._token_file, "w", opener=lambda path, flags: os.open(path, flags, 0o600)
        ) as file:
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
            prefetch=2,  # two pages are loaded while one is printed
        ) as pages:
            yield from pages
        # guide: end pages


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", help="the URL of the interface")
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
