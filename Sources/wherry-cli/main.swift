// Wherry: the entry point of the command.
// SPDX-License-Identifier: Apache-2.0

// Before anything opens a file, which would get the descriptor of a closed standard stream.
StandardStreams.reserve()
// Before any thread exists, so that every thread inherits the signal mask.
Interrupts.block()
WherryCommand.launch(GivenArguments.texts)
