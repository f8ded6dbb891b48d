// Wherry: the command line tool's entrance.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

// Before any thread is made, so that every thread inherits the mask.
Interrupts.block()
WherryCommand.launch()
