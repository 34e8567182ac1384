#include "report_figure.h"

#include <stdio.h>
#include <stdlib.h>

#include "markup.h"

RpinnSheet *rpinn_figure_sheet(RpinnFigureSet *figures, const char *name, size_t columns) {
  if (!figures) return NULL;
  RpinnNamedSheet **grown = realloc(figures->items, (figures->count + 1) * sizeof(*grown));
  if (grown) figures->items = grown;
  RpinnNamedSheet *item = grown ? calloc(1, sizeof *item) : NULL;
  if (!item) {
    figures->failed = true;
    return NULL;
  }
  snprintf(item->name, sizeof item->name, "%s", name);
  item->sheet.columns = columns;
  figures->items[figures->count++] = item;
  return &item->sheet;
}

void rpinn_figure_set_free(RpinnFigureSet *figures) {
  for (size_t i = 0; i < figures->count; i++) {
    rpinn_sheet_free(&figures->items[i]->sheet);
    free(figures->items[i]);
  }
  free(figures->items);
  *figures = (RpinnFigureSet){0};
}

RpinnStatus rpinn_figure_set_save(RpinnContext *context, const RpinnFigureSet *figures, const char *folder,
                                  size_t *num_drawn, RpinnDrawing *drawing) {
  *num_drawn = 0;
  *drawing = RPINN_DRAWN;
  if (figures->failed) return rpinn_fail_memory(context);
  for (size_t i = 0; i < figures->count; i++) {
    RpinnDrawing outcome;
    if (rpinn_is_interrupted(context)) return rpinn_fail_interrupted(context);
    RPINN_TRY(
        rpinn_sheet_save(context, &figures->items[i]->sheet, folder, figures->items[i]->name, &outcome));
    *num_drawn += outcome == RPINN_DRAWN;
    if (outcome != RPINN_DRAWN) *drawing = outcome;
  }
  return RPINN_OK;
}

void rpinn_figure_open(RpinnText *page, const char *caption) {
  rpinn_text_append(page, "<figure>\n<figcaption>");
  rpinn_markup_text(page, caption);
  rpinn_text_append(page, "</figcaption>\n");
}

void rpinn_figure_close(RpinnText *page) {
  rpinn_text_append(page, "</figure>\n");
}
