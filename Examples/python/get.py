# Wherry: one GET
# SPDX-License-Identifier: Apache-2.0
"""python3 get.py URL"""

import sys

import wherry


def main(url: str) -> int:
    try:
        response = wherry.get(url, timeout=5)
    except wherry.WherryError as error:
        print(f"{error.reason}: {error.message}", file=sys.stderr)
        return 1
    print(response.status_code, response.headers.get("content-type"), len(response.content))
    return 0 if response.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
