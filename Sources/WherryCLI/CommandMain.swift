// Wherry: the main function of the command.
// SPDX-License-Identifier: Apache-2.0

/// Runs the command with the arguments of the process, and exits. The program `wherry` calls it, and so does the program
/// in the Python wheel, which is C.
@_cdecl("wherry_command_main")
public func commandMain() -> Never {
    // Before anything opens a file, which would get the descriptor of a closed standard stream.
    StandardStreams.reserve()
    // Before any thread exists, so that every thread inherits the signal mask.
    Interrupts.block()
    WherryCommand.launch(GivenArguments.texts)
}
