# Wherry: endpoints, pages, and field mappings
# SPDX-License-Identifier: Apache-2.0
"""Endpoints, lists of pages, and mappings from JSON to dataclasses."""
