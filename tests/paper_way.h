/* The paper's way, which tests of single parts are written in: noise by weights, a fixed number of Adam's iterations from
 * Glorot's starts, fields as they are. For a problem's text, and as overrides. */
#ifndef RPINN_TESTS_PAPER_WAY_H
#define RPINN_TESTS_PAPER_WAY_H

#define PAPER_SETTINGS "likelihood: paper, optimizer: adam, start: glorot, scale_fields: no"
#define PAPER_OVERRIDES                                                                                      \
  {"likelihood", "paper", "test", true}, {"optimizer", "adam", "test", true},                                \
      {"start", "glorot", "test", true}, {                                                                   \
    "scale_fields", "no", "test", true                                                                       \
  }
enum { NUM_PAPER_OVERRIDES = 4 };

#endif
