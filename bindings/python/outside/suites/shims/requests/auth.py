# Wherry: the credentials of requests
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import wherry

from absent import module

AuthBase = object  # Any function of a request is an auth= of Wherry.
HTTPBasicAuth = wherry.Basic
HTTPDigestAuth = wherry.DigestAuth


def _basic_auth_str(username, password):
    return wherry.Basic(username, password).field()


__getattr__ = module(globals(), "requests.auth")
