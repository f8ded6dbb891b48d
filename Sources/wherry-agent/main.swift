// Wherry: the agent, which runs background jobs.
// SPDX-License-Identifier: Apache-2.0

import CArguments
import Glibc
import WherryBackground
import WherrySystem

let arguments = (1..<max(1, carguments_count())).compactMap { index in
    carguments_at(index).map { PathText.text($0) }
}
exit(AgentProgram.run(arguments))
