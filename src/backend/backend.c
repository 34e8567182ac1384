/* The list of backends, and what all of them share. */
#include "backend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const RpinnBackendOperations *const backends[] = {
#define RPINN_BACKEND_ROW(operations, name) &operations,
    RPINN_BACKEND_LIST(RPINN_BACKEND_ROW)
#undef RPINN_BACKEND_ROW
};

static struct { const RpinnBackendOperations *own, *other; } replaced;

void rpinn_backend_replace(const RpinnBackendOperations *own, const RpinnBackendOperations *other) {
  replaced.own = own;
  replaced.other = other;
}

const RpinnBackendOperations *rpinn_backend_in_place_of(const RpinnBackendOperations *own) {
  return own == replaced.own && replaced.other ? replaced.other : own;
}

const RpinnBackendOperations *rpinn_backend_at(size_t index) {
  return index < sizeof backends / sizeof backends[0] ? rpinn_backend_in_place_of(backends[index]) : NULL;
}

static const char *const names[] = {
#define RPINN_BACKEND_NAME(operations, name) name,
    RPINN_BACKEND_LIST(RPINN_BACKEND_NAME)
#undef RPINN_BACKEND_NAME
};
enum { NUM_BACKENDS = sizeof names / sizeof names[0] };

/* What there is of a backend, as a line. */
static RpinnStatus describe(RpinnContext *context, size_t index, RpinnText *line) {
  const RpinnBackendOperations *operations = rpinn_backend_at(index);
  if (operations->describe) return operations->describe(context, line);
  rpinn_text_append(line, "on every machine");
  return RPINN_OK;
}

const char *rpinn_backend_choose(RpinnContext *context, double num_products, RpinnText *reason) {
  for (size_t i = 0; i < NUM_BACKENDS; i++) {
    double worth = rpinn_backend_at(i)->worth_products;
    RpinnText line = {0};
    if (!(worth > 0)) continue;
    bool is_there = describe(context, i, &line) == RPINN_OK, is_chosen = is_there && num_products >= worth;
    rpinn_text_append(reason, "%s", reason->length ? "; " : "");
    if (is_there)
      rpinn_text_append(
          reason,
          "%s has %s, which is worth it from %.3g operations in an iteration of all members on, "
          "and there are %.3g",
          names[i], line.bytes, worth, num_products);
    else
      rpinn_text_append(reason, "%s", rpinn_context_error(context)->message);
    if (!is_there) rpinn_context_clear_error(context);
    rpinn_text_free(&line);
    if (is_chosen) return names[i];
  }
  return names[0];
}

/* What `auto` comes to on this machine. */
static void describe_choice(RpinnContext *context, RpinnText *line) {
  RpinnText reason = {0};
  const char *most = rpinn_backend_choose(context, HUGE_VAL, &reason);
  for (size_t i = 0; i < NUM_BACKENDS; i++)
    if (most == names[i] && rpinn_backend_at(i)->worth_products > 0)
      rpinn_text_append(line, "%s from %.3g operations in an iteration of all members on, else ", most,
                        rpinn_backend_at(i)->worth_products);
  rpinn_text_append(line, "%s", names[0]);
  rpinn_text_free(&reason);
}

RpinnStatus rpinn_backend_describe(RpinnContext *context, const char *name, char *text, size_t size) {
  size_t index = 0;
  while (index < NUM_BACKENDS && strcmp(names[index], name)) index++;
  bool is_choice = index == NUM_BACKENDS && !strcmp(name, "auto");
  if (index == NUM_BACKENDS && !is_choice)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there is no backend '%s', expected %s", name,
                      RPINN_CHOICES_AND(RPINN_BACKEND_LIST, "auto"));
  RpinnText line = {0};
  RpinnStatus status = RPINN_OK;
  if (is_choice)
    describe_choice(context, &line);
  else
    status = describe(context, index, &line);
  if (status == RPINN_OK && line.failed) status = rpinn_fail_memory(context);
  if (status == RPINN_OK) snprintf(text, size, "%s", line.bytes);
  rpinn_text_free(&line);
  return status;
}

double rpinn_model_products(const RpinnEnergyModel *model) {
  double work = 0;
  for (size_t t = 0; t < model->num_terms; t++)
    for (size_t f = 0; f < model->num_fields; f++)
      for (size_t l = 1; l + 1 < model->networks[f].num_layers; l++)
        work += 6.0 * (double)(model->networks[f].width[l] * model->networks[f].width[l + 1] *
                               model->terms[t].num_points * model->terms[t].program->channels[f].count);
  return work;
}

RpinnBatchMember rpinn_batch_member(const RpinnEnergyModel *model, const RpinnMemberBatch *batch, size_t k) {
  RpinnBatchMember member = batch->members[k];
  if (!member.row_scale) member.row_scale = model->row_scale;
  if (!member.prior_root) member.prior_root = model->prior_root;
  return member;
}

double rpinn_model_prior_energy(const RpinnEnergyModel *model, const RpinnBatchMember *member,
                                double *gradient) {
  const double *offsets = member->offsets ? member->offsets + model->num_rows : NULL;
  double sum = 0;
  for (size_t j = 0; j < model->num_parameters; j++) {
    double root = member->prior_root[j];
    if (root == 0) continue;
    double row = (member->theta[j] - model->prior_mean[j]) * root - (offsets ? offsets[j] : 0.0);
    sum += row * row;
    if (gradient) gradient[j] += root * row;
  }
  return 0.5 * sum;
}
