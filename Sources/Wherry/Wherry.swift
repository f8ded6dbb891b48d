// Wherry: the module for Swift programs.
// SPDX-License-Identifier: Apache-2.0

@_exported import WherryBackground
@_exported import WherryCore
@_exported import WherryModels

/// The progress of a transfer: an alias of `Progress` for files that import Foundation, which has a
/// class of that name.
public typealias TransferProgress = WherryCore.Progress
