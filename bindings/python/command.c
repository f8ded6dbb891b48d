/* Wherry: the program `wherry` of the Python wheel, whose library contains the command. */
/* SPDX-License-Identifier: Apache-2.0 */

void wherry_command_main(void);

int main(void) { wherry_command_main(); }
