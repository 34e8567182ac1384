/* Files that are built into the library, see cmake/embed_texts.cmake. */
#ifndef RPINN_BASE_EMBEDDED_TEXT_H
#define RPINN_BASE_EMBEDDED_TEXT_H

typedef struct RpinnEmbeddedText {
  const char *name; /* of the file, without its suffix */
  const char *text;
} RpinnEmbeddedText;

/* Sorted by name; a NULL name ends each. */
extern const RpinnEmbeddedText rpinn_shipped_texts[];   /* problems/ */
extern const RpinnEmbeddedText rpinn_published_texts[]; /* problems/published/ */

#endif
