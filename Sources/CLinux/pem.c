/* Wherry: certificates in PEM and DER; see pem.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pem.h"

#include <string.h>

enum {
  MOST_TEXT = 250, /* OpenSSL splits longer lines, and may find a boundary in the rest */
  MOST_LINE = 76,  /* the maximum length of a Base64 line */
  MOST_CERTIFICATE = 65535
};

typedef clinux_span span;

/* ---- DER (X.690) ------------------------------------------------------------------------------
 *
 * Accepts only certificates that OpenSSL accepts too, and fewer: those with the usual string and
 * time types, in strict DER. */

enum {
  BOOLEAN = 0x01,
  INTEGER = 0x02,
  BIT_STRING = 0x03,
  OCTET_STRING = 0x04,
  NULL_VALUE = 0x05,
  OID = 0x06,
  UTF8_STRING = 0x0c,
  PRINTABLE_STRING = 0x13,
  TELETEX_STRING = 0x14,
  IA5_STRING = 0x16,
  UTC_TIME = 0x17,
  GENERAL_TIME = 0x18,
  SEQUENCE = 0x30,
  SET = 0x31,
  VERSION = 0xa0,
  EXTENSIONS = 0xa3
};

static size_t length_of(span in) { return (size_t)(in.end - in.at); }

/* Reads the next value if it has this tag; returns 0 otherwise. */
static int next(span *in, int tag, span *value) {
  if (length_of(*in) < 2 || in->at[0] != tag) return 0;
  const unsigned char *at = in->at + 2;
  size_t length = in->at[1];
  if (length >= 0x80) {
    size_t digits = length - 0x80;
    if (digits < 1 || digits > 3 || (size_t)(in->end - at) < digits) return 0;
    length = 0;
    for (size_t i = 0; i < digits; i++) length = length << 8 | *at++;
    /* DER has the shortest form only. */
    if (length < 0x80 || length >> 8 * (digits - 1) == 0) return 0;
  }
  if ((size_t)(in->end - at) < length) return 0;
  *value = (span){at, at + length};
  in->at = value->end;
  return 1;
}

static int has(span *in, int tag) {
  span value;
  return next(in, tag, &value);
}

static int integer(span *in) {
  span value;
  if (!next(in, INTEGER, &value) || length_of(value) == 0) return 0;
  if (length_of(value) == 1) return 1;
  int is_padded =
      (value.at[0] == 0 && value.at[1] < 0x80) || (value.at[0] == 0xff && value.at[1] >= 0x80);
  return !is_padded;
}

static int identifier(span *in, span *value) {
  if (!next(in, OID, value) || length_of(*value) == 0 || value->end[-1] >= 0x80) return 0;
  for (const unsigned char *at = value->at; at < value->end; at++)
    if (*at == 0x80 && (at == value->at || at[-1] < 0x80)) return 0;
  return 1;
}

static int bits(span *in) {
  span value;
  return next(in, BIT_STRING, &value) && length_of(value) > 0 && value.at[0] == 0;
}

static int algorithm(span *in) {
  span body, ignored;
  if (!next(in, SEQUENCE, &body) || !identifier(&body, &ignored)) return 0;
  if (body.at == body.end) return 1;
  if (next(&body, NULL_VALUE, &ignored)) return ignored.at == ignored.end && body.at == body.end;
  if (identifier(&body, &ignored)) return body.at == body.end;
  return has(&body, SEQUENCE) && body.at == body.end;
}

static int time_value(span *in) {
  span value;
  size_t digits = 12;
  if (!next(in, UTC_TIME, &value)) {
    if (!next(in, GENERAL_TIME, &value)) return 0;
    digits = 14;
  }
  if (length_of(value) != digits + 1 || value.at[digits] != 'Z') return 0;
  for (size_t i = 0; i < digits; i++)
    if (value.at[i] < '0' || value.at[i] > '9') return 0;
  return 1;
}

/* Whether all bytes are valid UTF-8 without U+0000. */
static int is_utf8(span text) {
  while (text.at < text.end) {
    uint32_t lead = *text.at++, least, more;
    if (lead > 0 && lead < 0x80) continue;
    if (lead >= 0xc2 && lead < 0xe0) more = 1, least = 0x80, lead &= 0x1f;
    else if (lead >= 0xe0 && lead < 0xf0) more = 2, least = 0x800, lead &= 0x0f;
    else if (lead >= 0xf0 && lead < 0xf5) more = 3, least = 0x10000, lead &= 0x07;
    else return 0;
    if (length_of(text) < more) return 0;
    for (; more > 0; more--) {
      if ((*text.at & 0xc0) != 0x80) return 0;
      lead = lead << 6 | (*text.at++ & 0x3f);
    }
    if (lead < least || lead > 0x10ffff || (lead >= 0xd800 && lead < 0xe000)) return 0;
  }
  return 1;
}

static int is_ascii(span text) {
  for (; text.at < text.end; text.at++)
    if (*text.at == 0 || *text.at >= 0x80) return 0;
  return 1;
}

static uint64_t mixed(uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3; }

/* Computes a number that is equal for names that OpenSSL considers equal: it ignores case, the type
 * of the strings, the number of spaces, and the order within a relative name. This one ignores
 * spaces and the order entirely. Returns 0 for a name that may contain other strings. */
static int name_key(span body, uint64_t *key) {
  *key = 0;
  while (body.at < body.end) {
    span relative;
    if (!next(&body, SET, &relative) || relative.at == relative.end) return 0;
    while (relative.at < relative.end) {
      span attribute, type, value;
      if (!next(&relative, SEQUENCE, &attribute) || !identifier(&attribute, &type)) return 0;
      if (next(&attribute, UTF8_STRING, &value)) {
        if (!is_utf8(value)) return 0;
      } else if (next(&attribute, PRINTABLE_STRING, &value) ||
                 next(&attribute, IA5_STRING, &value) || next(&attribute, TELETEX_STRING, &value)) {
        if (!is_ascii(value)) return 0;
      } else {
        return 0;
      }
      if (attribute.at != attribute.end) return 0;
      uint64_t hash = 0xcbf29ce484222325;
      for (; type.at < type.end; type.at++) hash = mixed(hash, *type.at);
      for (; value.at < value.end; value.at++) {
        unsigned char byte = *value.at;
        if (byte == ' ' || (byte >= '\t' && byte <= '\r')) continue;
        hash = mixed(hash, byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
      }
      *key += hash * 0x9e3779b97f4a7c15;
    }
  }
  return 1;
}

static int extensions(span *in) {
  span outer, list;
  if (!next(in, EXTENSIONS, &outer)) return 1;
  if (!next(&outer, SEQUENCE, &list) || outer.at != outer.end) return 0;
  while (list.at < list.end) {
    span extension, ignored;
    if (!next(&list, SEQUENCE, &extension) || !identifier(&extension, &ignored)) return 0;
    if (next(&extension, BOOLEAN, &ignored) && length_of(ignored) != 1) return 0;
    if (!has(&extension, OCTET_STRING) || extension.at != extension.end) return 0;
  }
  return 1;
}

/* Checks a certificate, and computes the key of its subject. */
static int check_certificate(span in, uint64_t *key) {
  span whole, body, version, name, value;
  uint64_t ignored;
  if (!next(&in, SEQUENCE, &whole) || in.at != in.end) return 0;
  if (!next(&whole, SEQUENCE, &body) || !algorithm(&whole) || !bits(&whole) ||
      whole.at != whole.end)
    return 0;
  if (next(&body, VERSION, &version) && (!integer(&version) || version.at != version.end)) return 0;
  if (!integer(&body) || !algorithm(&body)) return 0;
  if (!next(&body, SEQUENCE, &name) || !name_key(name, &ignored)) return 0;
  if (!next(&body, SEQUENCE, &value) || !time_value(&value) || !time_value(&value) ||
      value.at != value.end)
    return 0;
  if (!next(&body, SEQUENCE, &name) || !name_key(name, key)) return 0;
  if (!next(&body, SEQUENCE, &value) || !algorithm(&value) || !bits(&value) ||
      value.at != value.end)
    return 0;
  return extensions(&body) && body.at == body.end;
}

/* ---- PEM (RFC 7468) ---------------------------------------------------------------------------
 */

static const char BEGIN[] = "-----BEGIN CERTIFICATE-----", END[] = "-----END CERTIFICATE-----";

/* Takes the next line, without its end. */
static span take_line(span *in) {
  const unsigned char *end = memchr(in->at, '\n', length_of(*in));
  span line = {in->at, end == NULL ? in->end : end};
  in->at = end == NULL ? in->end : end + 1;
  if (line.end > line.at && line.end[-1] == '\r') line.end--;
  return line;
}

static int is_text(span line, const char *text, size_t length) {
  return length_of(line) == length && memcmp(line.at, text, length) == 0;
}

/* The values of the digits of Base64, plus one. */
static const unsigned char digits[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64};

/* Decodes a line of Base64. Sets `is_last` if it is padded. Returns the bytes, or -1. */
static long decode_line(span line, unsigned char *out, int *is_last) {
  size_t count = length_of(line), padding = 0;
  if (count == 0 || count % 4 != 0 || count > MOST_LINE) return -1;
  while (padding < 2 && line.end[-1] == '=') line.end--, padding++;
  *is_last = padding > 0;
  const unsigned char *start = out;
  unsigned char last[4] = {'A', 'A', 'A', 'A'};
  for (size_t i = 0; i < count; i += 4, line.at += 4) {
    const unsigned char *four = line.at;
    size_t known = length_of(line) < 4 ? length_of(line) : 4;
    if (known < 4) four = memcpy(last, four, known);
    int a = digits[four[0]], b = digits[four[1]], c = digits[four[2]], d = digits[four[3]];
    if (a == 0 || b == 0 || c == 0 || d == 0) return -1;
    a--, b--, c--, d--;
    *out++ = (unsigned char)(a << 2 | b >> 4);
    if (known > 2) *out++ = (unsigned char)(b << 4 | c >> 2);
    if (known > 3) *out++ = (unsigned char)(c << 6 | d);
  }
  return out - start;
}

/* Decodes the lines up to the end of a certificate. Returns its length, or 0. */
static size_t decode_certificate(span *in, unsigned char *out) {
  size_t length = 0, width = 0;
  int is_last = 0;
  while (in->at < in->end) {
    span line = take_line(in);
    if (is_text(line, END, sizeof END - 1)) return length;
    /* All lines but the last have the same length. */
    if (is_last || length > MOST_CERTIFICATE) return 0;
    long got = decode_line(line, out + length, &is_last);
    if (got < 0) return 0;
    if (width == 0) width = length_of(line);
    if (length_of(line) > width) return 0;
    if (length_of(line) < width) is_last = 1;
    length += (size_t)got;
  }
  return 0;
}

int clinux_next_certificate(span *in, unsigned char *der, size_t *length, uint64_t *key) {
  while (in->at < in->end) {
    span line = take_line(in);
    if (length_of(line) > MOST_TEXT) return -1;
    if (length_of(line) < 5 || memcmp(line.at, "-----", 5) != 0) continue;
    if (!is_text(line, BEGIN, sizeof BEGIN - 1)) return -1;
    *length = decode_certificate(in, der);
    return *length > 0 && check_certificate((span){der, der + *length}, key) ? 1 : -1;
  }
  return 0;
}

int clinux_name_key(span name, uint64_t *key) {
  span body;
  return next(&name, SEQUENCE, &body) && name.at == name.end && name_key(body, key);
}
