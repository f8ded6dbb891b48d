// Wherry: the program that carries background jobs out.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryCore

exit(AgentProgram.run(Array(CommandLine.arguments.dropFirst())))
