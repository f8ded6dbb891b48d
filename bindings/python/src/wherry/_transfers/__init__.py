# Wherry: streams, downloads, uploads, and groups
# SPDX-License-Identifier: Apache-2.0
"""Streams, downloads, image uploads, groups, and chains, for both clients."""
