// Wherry: the modules that Swift programs see.
// SPDX-License-Identifier: Apache-2.0

@_exported import WherryBackground
@_exported import WherryCache
@_exported import WherryCore
@_exported import WherryDownloads
@_exported import WherryHTTP
@_exported import WherryLogging
@_exported import WherryModels
@_exported import WherryReachability
@_exported import WherryRequests

/// The progress of a transfer: an alias of `Progress` for files that import Foundation, which has a
/// class of that name.
public typealias TransferProgress = WherryHTTP.Progress
