// Wherry: the entry point of the command in the library of the Python wheel.
// SPDX-License-Identifier: Apache-2.0

/// Runs the command with the arguments of the process, as `main.swift` does in the program.
@_cdecl("wherry_command_main")
public func commandMain() {
    StandardStreams.reserve()
    Interrupts.block()
    WherryCommand.launch(GivenArguments.texts)
}
