# Wherry: other users of libcurl in a Python program
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from conftest import Server, run_python

#: pycurl comes with its own libcurl, or uses the system's.
PROGRAM = """
import sys, threading
if sys.argv[2] == "before":
    import pycurl
import wherry
if sys.argv[2] == "after":
    wherry.get(sys.argv[1])
    import pycurl

def curl():
    pieces = []
    easy = pycurl.Curl()
    for option, value in ((pycurl.URL, sys.argv[1]), (pycurl.PROXY, ""), (pycurl.NOSIGNAL, 1)):
        easy.setopt(option, value)
    easy.setopt(pycurl.WRITEFUNCTION, pieces.append)
    easy.perform()
    easy.close()
    assert b"".join(pieces)

pycurl.global_cleanup()
pycurl.global_init(pycurl.GLOBAL_ALL)
curl()
with wherry.Client() as client:
    for _ in range(3):
        threads = [threading.Thread(target=lambda: [curl() for _ in range(20)]) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            assert client.get(sys.argv[1]).ok
        for thread in threads:
            thread.join()
        pycurl.global_cleanup()
        assert client.get(sys.argv[1]).ok
        pycurl.global_init(pycurl.GLOBAL_ALL)
curl()
pycurl.global_cleanup()
assert wherry.get(sys.argv[1]).ok
print("done")
"""


@pytest.mark.parametrize("order", ["before", "after"])
def test_pycurl_works_in_the_same_program(server: Server, order: str) -> None:
    pytest.importorskip("pycurl")
    code = f"import sys; sys.argv[1:] = [{server.url('/bytes/1000')!r}, {order!r}]\n" + PROGRAM
    done = run_python(code)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
