# Wherry: many requests at once with asyncio
# SPDX-License-Identifier: Apache-2.0
"""python3 many.py BASE COUNT"""

import asyncio
import sys

import wherry


async def main(base: str, count: int) -> int:
    async with wherry.AsyncClient(base_url=base, timeout=5) as client:
        responses = await asyncio.gather(
            *[client.get("json", params={"item": number}) for number in range(count)],
            return_exceptions=True,
        )
    good = [a for a in responses if isinstance(a, wherry.Response) and a.ok]
    print(len(good), "of", count)
    return 0 if len(good) == count else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], int(sys.argv[2]))))
