// Wherry: the entry point of the command.
// SPDX-License-Identifier: Apache-2.0

import WherryCLI

commandMain()
