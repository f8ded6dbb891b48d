// Wherry: the module that Swift programs import.
// SPDX-License-Identifier: Apache-2.0

@_exported import WherryCore

/// How far a transfer has come: another name for `Progress` in files that import Foundation too,
/// which has a class of that name.
public typealias TransferProgress = WherryCore.Progress
