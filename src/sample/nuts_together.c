/* Chains and what answers them: alone, or several with what they ask in common calls. */
#include <stdlib.h>

#include "nuts_chain.h"

/* ---- one ---- */

/* Until it asks nothing. */
static RpinnStatus pursue(RpinnContext *context, RpinnNuts *nuts) {
  RpinnStatus status = RPINN_OK;
  rpinn_context_clear_error(context);
  for (RpinnRequest *request; status == RPINN_OK && (request = rpinn_nuts_request(nuts));) {
    status = rpinn_request_answer(context, request);
    if (status == RPINN_OK) status = rpinn_nuts_go_on(context, nuts);
  }
  if (status != RPINN_OK) rpinn_nuts_give_up(nuts);
  return status;
}

RpinnStatus rpinn_nuts_start(RpinnContext *context, RpinnNuts *nuts, uint64_t seed, uint64_t chain,
                             const double *theta) {
  rpinn_nuts_place(nuts, seed, chain, theta);
  return pursue(context, nuts);
}

RpinnStatus rpinn_nuts_advance(RpinnContext *context, RpinnNuts *nuts, RpinnNutsDraw *draw) {
  RPINN_TRY(rpinn_nuts_set_out(context, nuts));
  RPINN_TRY(pursue(context, nuts));
  *draw = nuts->draw;
  return RPINN_OK;
}

/* ---- several ---- */

struct RpinnNutsCompany {
  size_t count;            /* chains that ask */
  RpinnNuts **chains;      /* [capacity] */
  RpinnRequest **requests; /* [capacity] */
  RpinnAnswering *answering;
};

void rpinn_nuts_company_destroy(RpinnNutsCompany *company) {
  if (!company) return;
  rpinn_answering_destroy(company->answering);
  free(company->requests);
  free(company->chains);
  free(company);
}

RpinnStatus rpinn_nuts_company_create(RpinnContext *context, size_t capacity, RpinnNutsCompany **company) {
  RpinnNutsCompany *created = *company = calloc(1, sizeof *created);
  if (!created) return rpinn_fail_memory(context);
  created->chains = calloc(capacity + 1, sizeof *created->chains);
  created->requests = calloc(capacity + 1, sizeof *created->requests);
  RpinnStatus status = created->chains && created->requests
                           ? rpinn_answering_create(context, capacity + 1, &created->answering)
                           : rpinn_fail_memory(context);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_nuts_company_destroy(created);
  *company = NULL;
  return status;
}

static void gather(RpinnNutsCompany *company, size_t count, RpinnNuts *const *chains) {
  company->count = 0;
  for (size_t k = 0; k < count; k++)
    if (rpinn_nuts_request(chains[k])) company->chains[company->count++] = chains[k];
}

static bool all_ask(const RpinnNutsCompany *company) {
  for (size_t k = 0; k < company->count; k++)
    if (!rpinn_nuts_request(company->chains[k])) return false;
  return company->count > 0;
}

/* What each asks, and each goes on with it. */
static RpinnStatus answer_once(RpinnContext *context, const RpinnNutsCompany *company) {
  for (size_t k = 0; k < company->count; k++) company->requests[k] = rpinn_nuts_request(company->chains[k]);
  RPINN_TRY(rpinn_requests_answer(context, company->answering, company->count, company->requests));
  for (size_t k = 0; k < company->count; k++) RPINN_TRY(rpinn_nuts_go_on(context, company->chains[k]));
  return RPINN_OK;
}

/* Those that ask, until one of them is done. */
static RpinnStatus pursue_together(RpinnContext *context, RpinnNutsCompany *company, size_t count,
                                   RpinnNuts *const *chains) {
  RpinnStatus status = RPINN_OK;
  rpinn_context_clear_error(context);
  gather(company, count, chains);
  while (status == RPINN_OK && all_ask(company)) status = answer_once(context, company);
  for (size_t k = 0; status != RPINN_OK && k < company->count; k++) rpinn_nuts_give_up(company->chains[k]);
  return status;
}

RpinnStatus rpinn_nuts_company_advance(RpinnContext *context, RpinnNutsCompany *company, size_t count,
                                       RpinnNuts *const *chains, RpinnNutsDraw *draws, bool *made) {
  for (size_t k = 0; k < count; k++) {
    made[k] = !rpinn_nuts_finished(chains[k]);
    if (made[k]) RPINN_TRY(rpinn_nuts_set_out(context, chains[k]));
  }
  RPINN_TRY(pursue_together(context, company, count, chains));
  for (size_t k = 0; k < count; k++) {
    made[k] = made[k] && !rpinn_nuts_request(chains[k]);
    if (made[k]) draws[k] = chains[k]->draw;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_nuts_advance_together(RpinnContext *context, size_t count, RpinnNuts *const *chains,
                                        RpinnNutsDraw *draws, bool *made) {
  RpinnNutsCompany *company;
  RPINN_TRY(rpinn_nuts_company_create(context, count, &company));
  RpinnStatus status = rpinn_nuts_company_advance(context, company, count, chains, draws, made);
  rpinn_nuts_company_destroy(company);
  return status;
}

RpinnStatus rpinn_nuts_start_together(RpinnContext *context, size_t count, RpinnNuts *const *chains,
                                      uint64_t seed, const uint64_t *numbers, const double *const *thetas) {
  RpinnNutsCompany *company;
  RPINN_TRY(rpinn_nuts_company_create(context, count, &company));
  for (size_t k = 0; k < count; k++) rpinn_nuts_place(chains[k], seed, numbers[k], thetas[k]);
  RpinnStatus status = pursue_together(context, company, count, chains);
  rpinn_nuts_company_destroy(company);
  return status;
}
