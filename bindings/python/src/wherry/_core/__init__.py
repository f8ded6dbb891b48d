# Wherry: the logic that both clients share
# SPDX-License-Identifier: Apache-2.0
"""The logic that blocking and asyncio clients share. It never waits for events."""
