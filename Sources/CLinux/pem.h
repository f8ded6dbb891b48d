/* Wherry: reads certificates in PEM (RFC 7468) and strict DER (X.690). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLINUX_PEM_H
#define CLINUX_PEM_H

#include <stddef.h>
#include <stdint.h>

typedef struct clinux_span {
  const unsigned char *at, *end;
} clinux_span;

/* Bytes of `der` that clinux_next_certificate may write in addition to the number of bytes of `in`,
 * because it checks a line after decoding it. */
enum { CLINUX_PEM_SPARE = 76 };

/* Decodes the next certificate of a file into `der`, and moves the start of `in` behind it. Returns
 * 1 with the length of the certificate and the key of its subject, 0 after the last one, and -1 for
 * anything that OpenSSL may read differently, such as a revocation list. */
int clinux_next_certificate(clinux_span *in, unsigned char *der, size_t *length, uint64_t *key);

/* Computes the key of a name in DER, which is equal for names that OpenSSL considers equal. Returns
 * 0 for a name that may contain other strings than those of accepted certificates. */
int clinux_name_key(clinux_span name, uint64_t *key);

#endif
