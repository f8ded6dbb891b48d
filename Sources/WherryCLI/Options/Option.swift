// Wherry: which of two types is meant by Option here.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The library has a type of this name too, for the whole package.
typealias Option<Value> = ArgumentParser.Option<Value>
