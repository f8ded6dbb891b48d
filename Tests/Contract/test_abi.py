#!/usr/bin/env python3
# Wherry: tests of abi.py: what it accepts, and what it rejects
# SPDX-License-Identifier: Apache-2.0
"""Tests/Contract/test_abi.py"""

from __future__ import annotations

import pathlib
import tempfile
import unittest
from typing import List

import abi
from contract import SONAME

HEADER = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define WHERRY_CHECKED __attribute__((warn_unused_result))
#define WHERRY_VERSION_MAJOR 0
#define WHERRY_VERSION_MINOR 1
#define WHERRY_VERSION_PATCH 0
typedef struct wherry_client wherry_client;
typedef struct wherry_queue wherry_queue;
typedef struct wherry_record wherry_record;
typedef enum wherry_status {
  WHERRY_OK = 0,
  WHERRY_E_STATE = -1
} wherry_status;
typedef enum wherry_flag { /* no function uses this type */
  WHERRY_FLAG_A = 1,
  WHERRY_FLAG_B = 2
} wherry_flag;
typedef struct wherry_row {
  size_t size;
  const char *name, *path;
  int64_t bytes;
  int32_t kind; /* wherry_flag */
  int32_t reserved;
} wherry_row;
struct wherry_record {
  size_t size;
  void *user_data;
};
WHERRY_CHECKED wherry_status wherry_client_row(const wherry_client *client, wherry_row *out_row);
wherry_status wherry_queue_read(wherry_queue *queue, wherry_record *records, int64_t timeout_ms);
size_t wherry_queue_count(const wherry_queue *queue);
"""
MAP = "WHERRY_0.1 { global: wherry_*; local: *; };\n"
MAP_2 = MAP + "WHERRY_0.2 { global: wherry_added; } WHERRY_0.1;\n"
ADDED = "bool wherry_added(wherry_client *client);\n"


class ABITests(unittest.TestCase):
    def compare(self, header: str, map_text: str = MAP, soname: str = SONAME) -> List[str]:
        with tempfile.TemporaryDirectory() as folder:

            def interface(name: str, header: str, map_text: str, soname: str) -> abi.Interface:
                place = pathlib.Path(folder, name)
                place.mkdir()
                (place / "wherry.h").write_text(header)
                (place / "wherry.map").write_text(map_text)
                return abi.Interface(str(place / "wherry.h"), str(place / "wherry.map"), soname)

            return abi.compare(interface("old", HEADER, MAP, SONAME), interface("new", header, map_text, soname))

    def edited(self, *edits: str, minor: int = 1) -> str:
        """The header with each odd text replaced by the text after it."""
        header = HEADER.replace("VERSION_MINOR 1", f"VERSION_MINOR {minor}")
        for old, new in zip(edits[::2], edits[1::2]):
            self.assertEqual(header.count(old), 1, old)
            header = header.replace(old, new)
        return header

    def assert_breaks(self, *edits: str, says: str) -> None:
        faults = self.compare(self.edited(*edits, minor=2))
        self.assertEqual(len(faults), 1, faults)
        self.assertIn("Programs written for 0.1.0 would break", faults[0])
        self.assertIn(says, faults[0])
        # A new soname permits every change.
        self.assertEqual(self.compare(self.edited(*edits, minor=2), soname="libwherry.so.1"), [])

    def test_the_same_header_passes(self) -> None:
        self.assertEqual(self.compare(HEADER), [])

    def test_a_changed_constant_fails(self) -> None:
        self.assert_breaks("WHERRY_E_STATE = -1", "WHERRY_E_STATE = -2", says="from value '-1' to '-2'")

    def test_a_changed_constant_of_an_unused_type_fails(self) -> None:
        self.assert_breaks("WHERRY_FLAG_B = 2", "WHERRY_FLAG_B = 4", says="WHERRY_FLAG_B")

    def test_a_removed_constant_fails(self) -> None:
        self.assert_breaks("WHERRY_FLAG_A = 1,", "", says="not in the header any more: WHERRY_FLAG_A")

    def test_a_removed_function_fails(self) -> None:
        self.assert_breaks("size_t wherry_queue_count(const wherry_queue *queue);", "", says="1 Removed function")

    def test_a_changed_parameter_type_fails(self) -> None:
        self.assert_breaks("int64_t timeout_ms", "int32_t timeout_ms", says="from 64 to 32 (in bits)")

    def test_another_handle_type_fails(self) -> None:
        self.assert_breaks("wherry_read(wherry_queue *queue"[7:], "read(wherry_client *queue", says="wherry_client")

    def test_an_added_parameter_fails(self) -> None:
        self.assert_breaks("int64_t timeout_ms", "int64_t timeout_ms, bool all", says="was added")

    def test_a_changed_result_type_fails(self) -> None:
        self.assert_breaks("size_t wherry_queue_count", "int32_t wherry_queue_count", says="return type changed")

    def test_an_inserted_field_fails(self) -> None:
        self.assert_breaks("int64_t bytes;", "int64_t added; int64_t bytes;", says="offset changed")

    def test_exchanged_fields_fail(self) -> None:
        self.assert_breaks("*name, *path", "*path, *name", says="offset changed")

    def test_a_changed_field_type_fails(self) -> None:
        self.assert_breaks("int32_t kind", "uint32_t kind", says="int32_t to uint32_t")

    def test_a_changed_field_of_a_longer_struct_fails(self) -> None:
        self.assert_breaks(
            "int32_t kind", "uint32_t kind", "reserved;", "reserved; int64_t added;", says="int32_t to uint32_t"
        )

    def test_a_renamed_field_fails(self) -> None:
        self.assert_breaks("int64_t bytes;", "int64_t byte_count;", says="wherry_row.bytes")

    def test_another_symbol_version_fails(self) -> None:
        faults = self.compare(self.edited(minor=2), MAP_2.replace("wherry_added", "wherry_queue_count"))
        self.assertIn("wherry_queue_count@@WHERRY_0.1", faults[0])

    def test_additions_to_a_minor_release_pass(self) -> None:
        more = ("reserved;", "reserved; int64_t more;", "void *user_data;", "void *user_data; int32_t more;")
        header = self.edited("WHERRY_FLAG_B = 2", "WHERRY_FLAG_B = 2, WHERRY_FLAG_C = 4", *more, minor=2) + ADDED
        self.assertEqual(self.compare(header, MAP_2), [])

    def test_a_reserved_field_may_get_a_name(self) -> None:
        self.assertEqual(self.compare(self.edited("int32_t reserved", "int32_t speed", minor=2)), [])

    def test_additions_to_a_patch_release_fail(self) -> None:
        header = self.edited("VERSION_PATCH 0", "VERSION_PATCH 1")
        for edited, name in (
            (header + ADDED, "wherry_added"),
            (header.replace("= 2", "= 2, WHERRY_C = 4"), "WHERRY_C"),
        ):
            faults = self.compare(edited)
            self.assertIn(f"{name}: new since 0.1.0. A patch release adds nothing", faults[0])

    def test_an_added_function_needs_the_symbol_version_of_its_release(self) -> None:
        faults = self.compare(self.edited(minor=2) + ADDED)
        self.assertEqual(
            faults,
            [
                "wherry_added is new since 0.1.0, but has the symbol version WHERRY_0.1. "
                "List it in WHERRY_0.2 of bindings/c/wherry.map."
            ],
        )


if __name__ == "__main__":
    unittest.main()
