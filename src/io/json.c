/* The JSON reader. Strings shrink when unescaped, so they fit where they stood. */
#include "io/json.h"

#include <string.h>

luc_status luc__json_fail(luc_json *json, const char *expected) {
  return luc__fail(json->ctx, LUC_ERR_IO, "%s: bad JSON at byte %zu: expected %s", json->who,
                   (size_t)(json->at - json->start), expected);
}

static void skip_spaces(luc_json *json) {
  while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at) json->at++;
}

bool luc__json_accept(luc_json *json, char c) {
  skip_spaces(json);
  if (json->at == json->end || *json->at != c) return false;
  json->at++;
  return true;
}

luc_status luc__json_expect(luc_json *json, char c) {
  char expected[4] = {'\'', c, '\'', '\0'};
  return luc__json_accept(json, c) ? LUC_OK : luc__json_fail(json, expected);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits after \u; -1 if they are not. */
static int32_t code_unit(luc_json *json) {
  int32_t code = 0;
  if (json->end - json->at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    int digit = hex_digit(*json->at++);
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

static char *put_utf8(char *to, uint32_t c) {
  if (c < 0x80) {
    *to++ = (char)c;
  } else if (c < 0x800) {
    *to++ = (char)(0xc0 | c >> 6);
    *to++ = (char)(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *to++ = (char)(0xe0 | c >> 12);
    *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    *to++ = (char)(0x80 | (c & 0x3f));
  } else {
    *to++ = (char)(0xf0 | c >> 18);
    *to++ = (char)(0x80 | (c >> 12 & 0x3f));
    *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    *to++ = (char)(0x80 | (c & 0x3f));
  }
  return to;
}

static bool unescape_unicode(luc_json *json, char **to) {
  int32_t code = code_unit(json);
  if (code <= 0 || (code >= 0xdc00 && code < 0xe000)) return false;
  if (code >= 0xd800 && code < 0xdc00) {
    if (json->end - json->at < 6 || json->at[0] != '\\' || json->at[1] != 'u') return false;
    json->at += 2;
    int32_t low = code_unit(json);
    if (low < 0xdc00 || low >= 0xe000) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  *to = put_utf8(*to, (uint32_t)code);
  return true;
}

static bool unescape(luc_json *json, char **to) {
  static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
  if (json->at == json->end) return false;
  char c = *json->at++;
  if (c == 'u') return unescape_unicode(json, to);
  const char *known = c ? strchr(from, c) : NULL;
  if (known) *(*to)++ = into[known - from];
  return known != NULL;
}

/* Length of the UTF-8 sequence at p, or 0 if it is not one (overlong, surrogate, truncated). */
static int utf8_length(const unsigned char *p, const unsigned char *end) {
  int n = *p < 0x80                 ? 1
          : *p >= 0xc2 && *p < 0xe0 ? 2
          : *p >= 0xe0 && *p < 0xf0 ? 3
          : *p >= 0xf0 && *p < 0xf5 ? 4
                                    : 0;
  if (n == 0 || end - p < n) return 0;
  for (int i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if (n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0))) return 0;
  if (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90))) return 0;
  return n;
}

bool luc__utf8_valid(const char *text) {
  const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);
  int n = 1;
  for (; p < end && n; p += n) n = utf8_length(p, end);
  return n != 0;
}

luc_status luc__json_string(luc_json *json, const char **out) {
  if (!luc__json_accept(json, '"')) return luc__json_fail(json, "a string");
  char *to = json->at;
  *out = to;
  while (json->at < json->end && *json->at != '"') {
    unsigned char c = (unsigned char)*json->at;
    if (c == '\\') {
      json->at++;
      if (!unescape(json, &to)) return luc__json_fail(json, "an escape sequence");
      continue;
    }
    int n = utf8_length((unsigned char *)json->at, (unsigned char *)json->end);
    if (c < 0x20 || n == 0) return luc__json_fail(json, "UTF-8 text");
    memmove(to, json->at, (size_t)n);
    to += n;
    json->at += n;
  }
  if (json->at == json->end) return luc__json_fail(json, "'\"'");
  json->at++;
  *to = '\0';
  return LUC_OK;
}

luc_status luc__json_integer(luc_json *json, int64_t *out) {
  skip_spaces(json);
  const char *first = json->at;
  int64_t value = 0;
  for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; json->at++) {
    int digit = *json->at - '0';
    if (value > (INT64_MAX - digit) / 10) return luc__json_fail(json, "a smaller number");
    value = value * 10 + digit;
  }
  bool leading_zero = json->at - first > 1 && *first == '0';
  if (json->at == first || leading_zero) return luc__json_fail(json, "a non-negative integer");
  *out = value;
  return LUC_OK;
}

/* ---- values that are left out ---- */

/* true, false, null or a number; what it says does not matter. */
static luc_status skip_word(luc_json *json) {
  static const char marks[] = "+-.", *const words[] = {"true", "false", "null"};
  const char *first = json->at;
  for (int i = 0; i < 3; i++) {
    size_t n = strlen(words[i]);
    if ((size_t)(json->end - json->at) < n || memcmp(json->at, words[i], n) != 0) continue;
    json->at += n;
    return LUC_OK;
  }
  for (; json->at < json->end; json->at++) {
    char c = *json->at;
    bool number = (c >= '0' && c <= '9') || c == 'e' || c == 'E' || (c && strchr(marks, c));
    if (!number) break;
  }
  bool good = json->at > first && (*first == '-' || (*first >= '0' && *first <= '9'));
  return good ? LUC_OK : luc__json_fail(json, "a value");
}

/* What begins at a value: a key of an object too, where `objects` says that one is open. */
static luc_status skip_value(luc_json *json, uint64_t *objects, int *depth, bool *opened) {
  const char *text;
  bool object = luc__json_accept(json, '{');
  *opened = object || luc__json_accept(json, '[');
  if (*opened) {
    if (*depth == 64) return luc__json_fail(json, "less nesting");
    *objects = *objects << 1 | object;
    ++*depth;
    return LUC_OK;
  }
  if (json->at < json->end && *json->at == '"') return luc__json_string(json, &text);
  return skip_word(json);
}

static luc_status skip_key(luc_json *json, bool object) {
  const char *text;
  if (!object) return LUC_OK;
  LUC_TRY(luc__json_string(json, &text));
  return luc__json_expect(json, ':');
}

luc_status luc__json_skip(luc_json *json) {
  uint64_t objects = 0; /* of the open brackets, the innermost last: which are braces */
  int depth = 0;
  bool opened;
  LUC_TRY(skip_value(json, &objects, &depth, &opened));
  while (depth > 0) {
    bool object = objects & 1, over = luc__json_accept(json, object ? '}' : ']');
    if (over) {
      objects >>= 1;
      depth--;
      opened = false;
      continue;
    }
    if (!opened) LUC_TRY(luc__json_expect(json, ','));
    LUC_TRY(skip_key(json, object));
    LUC_TRY(skip_value(json, &objects, &depth, &opened));
  }
  return LUC_OK;
}
