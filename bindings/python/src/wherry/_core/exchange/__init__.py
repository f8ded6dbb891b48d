# Wherry: one request and its response
# SPDX-License-Identifier: Apache-2.0
"""One exchange: the native request, its events, and the hooks made while it runs."""
