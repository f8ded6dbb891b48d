# Wherry: logs, activity, and reachability
# SPDX-License-Identifier: Apache-2.0
"""Iterators over log records, activity, and reachability."""
