// Wherry: the command line tool's entrance.
// SPDX-License-Identifier: Apache-2.0

// Before anything opens a file, which would take the place of a closed standard stream.
StandardStreams.reserve()
// Before any thread is made, so that every thread inherits the mask.
Interrupts.block()
WherryCommand.launch(GivenArguments.texts)
