# Wherry: waiting for events
# SPDX-License-Identifier: Apache-2.0
"""How callers wait for events: threads in short slices, event loops by a file descriptor."""
