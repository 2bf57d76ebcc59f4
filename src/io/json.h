/* A pull reader for the JSON that tensor files carry: objects, arrays, strings, non-negative
 * integers; other values can only be skipped. Works in place on a buffer it may overwrite (strings
 * are unescaped where they stand), allocates nothing, recurses never. */
#ifndef LUC_JSON_H
#define LUC_JSON_H

#include "base/context.h"

typedef struct luc_json {
  luc_context *ctx;
  const char *who; /* begins the messages */
  char *at, *start, *end;
} luc_json;

/* Fails with "who: bad JSON at byte n: expected what". */
luc_status luc__json_fail(luc_json *json, const char *expected);
/* Takes one punctuation character, spaces before it skipped. */
bool luc__json_accept(luc_json *json, char c);
luc_status luc__json_expect(luc_json *json, char c);
/* A string, unescaped and NUL-terminated in place; valid UTF-8 without NUL. */
luc_status luc__json_string(luc_json *json, const char **out);
/* An integer in [0, 2^63). */
luc_status luc__json_integer(luc_json *json, int64_t *out);
/* Any value, which is left out; at most 64 arrays and objects in each other. */
luc_status luc__json_skip(luc_json *json);
/* Is this text well-formed UTF-8? */
bool luc__utf8_valid(const char *text);

#endif
