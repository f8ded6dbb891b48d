# Wherry: responses
# SPDX-License-Identifier: Apache-2.0
"""Responses: headers, bodies, and compatibility with requests and httpx."""
