# Wherry: httpx._urlparse has no counterpart
# SPDX-License-Identifier: Apache-2.0
from absent import module

__getattr__ = module(globals(), "httpx._urlparse")
