# Wherry: the native library
# SPDX-License-Identifier: Apache-2.0
"""Loads libwherry and accesses its memory. No other package uses ctypes."""
