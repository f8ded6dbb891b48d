# Wherry: tests of cookies on the command line.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib

from conftest import Scope, field, wherry


def test_C14_cookies_are_sent_stored_in_a_file_and_sent_again(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    result = wherry("get", server.url("/echo"), "-b", "a=1; b=2")
    assert field(result.json, "Cookie") == "a=1; b=2"

    jar = tmp_path / "jar"
    result = wherry("get", server.url("/cookies/set?c=3&attributes=Path%3D/"), "--cookie-jar", jar)
    assert result.status == 0 and jar.stat().st_mode & 0o777 == 0o600
    result = wherry("get", server.url("/echo"), "--cookie", jar)
    assert field(result.json, "Cookie") == "c=3"

    result = wherry("get", server.url("/echo"), "--cookie", tmp_path / "none")
    assert result.status != 0 and "none" in result.err


# A cookie file was ignored if another option gave a cookie.
def test_C14_cookies_of_a_file_and_of_the_command_line_are_merged(server: Scope, tmp_path: pathlib.Path) -> None:
    jar = tmp_path / "jar"
    wherry("get", server.url("/cookies/set?c=3&attributes=Path%3D/"), "--cookie-jar", jar)
    result = wherry("get", server.url("/echo"), "-b", jar, "-b", "y=2")
    assert field(result.json, "Cookie") == "y=2; c=3"
    refused = wherry("get", server.url("/echo"), "-c", "-")
    assert refused.status == 2 and "--cookie-jar needs a file" in refused.err
