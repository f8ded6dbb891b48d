# Wherry: names of the standard library that tests take from requests.compat
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import MutableMapping  # noqa: F401
from http import cookiejar as cookielib  # noqa: F401
from http.cookies import Morsel  # noqa: F401
from json import JSONDecodeError  # noqa: F401
from urllib.parse import quote, unquote, urlencode, urljoin, urlparse, urlsplit  # noqa: F401
from urllib.request import getproxies  # noqa: F401

from absent import module

builtin_str = str
is_urllib3_1 = False

__getattr__ = module(globals(), "requests.compat")
