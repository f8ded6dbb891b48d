// Wherry: the main function of the command.
// SPDX-License-Identifier: Apache-2.0

/// Runs the command with the arguments of the process, and exits. The program `wherry` and the C
/// program in the Python wheel call this function.
@_cdecl("wherry_command_main")
public func commandMain() -> Never {
    // Before any file is opened: it would get the descriptor of a closed standard stream.
    StandardStreams.reserve()
    // Before any thread exists, so that every thread inherits the signal mask.
    Interrupts.block()
    WherryCommand.launch(GivenArguments.texts)
}
