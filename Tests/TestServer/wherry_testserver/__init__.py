# Wherry: a scripted loopback HTTP server for the tests.
# SPDX-License-Identifier: Apache-2.0
"""A small HTTP/1.1 server that misbehaves exactly as requested.

Run it with ``python3 -m wherry_testserver --port 0``; ``Tests/TestServer/README.md`` lists the
routes. It needs only the standard library (Python 3.9 or newer).
"""
