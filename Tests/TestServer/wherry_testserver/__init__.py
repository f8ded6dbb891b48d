# Wherry: scripted loopback HTTP server for the tests
# SPDX-License-Identifier: Apache-2.0
"""A small HTTP/1.1 server that misbehaves exactly as told.

Run it with ``python3 -m wherry_testserver --port 0``; the routes are listed in
``Tests/TestServer/README.md``. Only the standard library is needed (Python 3.9 or newer).
"""
