# Wherry: sends and receives JSON
# SPDX-License-Identifier: Apache-2.0
"""python3 post_json.py BASE PATH"""

import sys

import wherry


def main(base: str, path: str) -> int:
    with wherry.Client(base_url=base, headers={"X-App": "demo"}) as client:
        response = client.post(path, json={"title": "Ferien", "tags": ["meer", "sand"]})
        try:
            echo = response.raise_for_status().json()
        except wherry.HTTPStatusError as error:
            print(f"refused with {error.http_status}: {response.text}", file=sys.stderr)
            return 1
    print(echo["method"], echo["json"]["tags"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
