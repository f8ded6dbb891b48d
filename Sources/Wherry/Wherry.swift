// Wherry: the module for Swift programs.
// SPDX-License-Identifier: Apache-2.0

@_exported import WherryAsync
