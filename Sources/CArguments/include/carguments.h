/* Wherry: the arguments that the kernel gave to this process.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CARGUMENTS_H
#define CARGUMENTS_H

/* The number of arguments, including the program name. */
int carguments_count(void);
/* An argument, or NULL if the index is out of range. Valid as long as the process lives. */
const char *carguments_at(int index);

#endif
