/* Wherry: the arguments that the kernel gave to this process.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CARGUMENTS_H
#define CARGUMENTS_H

/* The number of arguments, the program's name included. */
int carguments_count(void);
/* An argument, or NULL for an index that there is none for. It lives as long as the process. */
const char *carguments_at(int index);

#endif
