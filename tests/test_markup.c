/* Numbers, shares and texts as pages write them, on both sides of each change of form. */
#include "check.h"

#include "markup.h"

#define MINUS "&#8722;"
#define TIMES "&#8201;&#215;&#8201;10<sup>"

static void numbers(void **state) {
  (void)state;
  static const struct {
    double value;
    int digits;
    const char *text;
  } cases[] = {{0, 3, "0"},
               {-0.0, 3, "0"},
               {7, 3, "7"},
               {-42, 3, MINUS "42"},
               {9999999, 3, "9999999"},
               {1e7, 3, "1.00" TIMES "7</sup>"},
               {0.5, 3, "0.500"},
               {0.001, 3, "0.00100"},
               {0.00099, 3, "9.90" TIMES MINUS "4</sup>"},
               {12.3456, 4, "12.35"},
               {12.3456, 2, "12"},
               {123.456, 3, "123"},
               {999.4, 3, "999"},
               {999.6, 3, "1000"},
               {99999.7, 5, "100000"},
               {1234.5, 3, "1234"},
               {99999.4, 3, "99999"},
               {123456.7, 3, "1.23" TIMES "5</sup>"},
               {123456.7, 8, "1.2345670" TIMES "5</sup>"},
               {-1.5e-7, 2, MINUS "1.5" TIMES MINUS "7</sup>"},
               {INFINITY, 3, "&#8734;"},
               {-INFINITY, 3, MINUS "&#8734;"},
               {NAN, 3, "&#8211;"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    RpinnText text = {0};
    rpinn_markup_number(&text, cases[k].value, cases[k].digits);
    check_true(!strcmp(text.bytes, cases[k].text), "%g with %d digits is %s, expected %s", cases[k].value,
               cases[k].digits, text.bytes, cases[k].text);
    rpinn_text_free(&text);
  }
}

static void shares(void **state) {
  (void)state;
  static const struct {
    double share;
    const char *text;
  } cases[] = {{0, "0.0&#8201;%"},
               {0.0123, "1.2&#8201;%"},
               {0.95, "95.0&#8201;%"},
               {1, "100.0&#8201;%"},
               {NAN, "&#8211;"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    RpinnText text = {0};
    rpinn_markup_percent(&text, cases[k].share);
    assert_string_equal(text.bytes, cases[k].text);
    rpinn_text_free(&text);
  }
}

/* What markup would interpret is escaped, control characters are left out, other letters stay. */
static void texts(void **state) {
  (void)state;
  RpinnText text = {0};
  rpinn_markup_text(&text, "a<b>&\"c\"\x01\x1b[31m\x7f\n\t\xc3\xa9");
  assert_string_equal(text.bytes, "a&lt;b&gt;&amp;&quot;c&quot;[31m\n\t\xc3\xa9");
  rpinn_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(shares),
                                     cmocka_unit_test(texts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
