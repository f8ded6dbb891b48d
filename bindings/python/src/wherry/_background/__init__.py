# Wherry: background sessions
# SPDX-License-Identifier: Apache-2.0
"""Background sessions and their jobs."""
