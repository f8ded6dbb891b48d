# Wherry: requests
# SPDX-License-Identifier: Apache-2.0
"""Requests: bodies, edits before sending, and the record of what was sent."""
