# Wherry: the clients
# SPDX-License-Identifier: Apache-2.0
"""The blocking client and the asyncio client."""
