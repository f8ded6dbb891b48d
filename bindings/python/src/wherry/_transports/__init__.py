# Wherry: custom transports
# SPDX-License-Identifier: Apache-2.0
"""Objects that respond to requests in place of the network."""
