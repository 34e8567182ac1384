/* The figures of a GPU, for people and for programs. */
#include <math.h>

#include "device_speed.h"
#include "json_writer.h"
#include "rpinn/version.h"

static const double step_bar = 0.4; /* seconds of an iteration of 500 members: 20 s for 50 */

static const double chain_bar = 0.6; /* of Adam's gradients per second */

static const char *const peak_names[] = {
#define PEAK_NAME(peak, name) name,
    RPINN_DEVICE_PEAK_LIST(PEAK_NAME)
#undef PEAK_NAME
};

static const char *const stage_names[] = {
#define STAGE_NAME(stage, name) name,
    RPINN_STEP_STAGE_LIST(STAGE_NAME)
#undef STAGE_NAME
};

static const RpinnDeviceSpeed *speed_of(const RpinnBench *bench) {
  return (const RpinnDeviceSpeed *)bench;
}

static double share_of_line(const RpinnDeviceSpeed *speed, const RpinnDeviceLine *line) {
  return line->work / line->seconds / speed->peaks[line->is_tf32 ? RPINN_PEAK_TENSOR_TF32 : RPINN_PEAK_FLOAT];
}

static double share_of_gram(const RpinnDeviceSpeed *speed) {
  return speed->stepping.gram_work / speed->stepping.stages[RPINN_STAGE_GRAM] /
         speed->peaks[RPINN_PEAK_TENSOR_DOUBLE];
}

static double share_of_prediction(const RpinnDeviceSpeed *speed) {
  return speed->prediction.work / speed->prediction.seconds / speed->peaks[RPINN_PEAK_FLOAT];
}

static double leapfrog_rate(const RpinnDeviceChaining *chaining) {
  return (double)chaining->num_leapfrogs / chaining->seconds;
}

/* Of the gradients per second that the first case's Adam has. */
static double share_of_adam(const RpinnDeviceSpeed *speed) {
  const RpinnDeviceLine *adam = &speed->lines[0];
  return leapfrog_rate(&speed->chaining) * adam->seconds / (double)adam->of->num_members;
}

static double iteration_seconds(const RpinnDeviceStepping *stepping) {
  return stepping->rows + stepping->gradient + stepping->steps;
}

double rpinn_device_speed_worst(const RpinnBench *bench) {
  const RpinnDeviceSpeed *speed = speed_of(bench);
  double worst = speed->has_steps ? step_bar / iteration_seconds(&speed->stepping) : HUGE_VAL;
  for (size_t k = 0; k < speed->num_lines; k++)
    worst = fmin(worst, speed->lines[k].of->bars[speed->lines[k].is_tf32] / speed->lines[k].seconds);
  if (speed->chaining.num_chains) worst = fmin(worst, share_of_adam(speed) / chain_bar);
  return worst;
}

/* ---- for people ---- */

static void write_chains(const RpinnDeviceSpeed *speed, RpinnText *text) {
  const RpinnDeviceChaining *chaining = &speed->chaining;
  if (!chaining->num_chains) return;
  rpinn_text_append(
      text,
      "\n  NUTS of %s: %zu chains, %.2f million leapfrogs per second, %.1f %% of Adam's gradients "
      "(bar %.0f %%); %.1f %% of the time in launches\n",
      speed->lines[0].of->name, chaining->num_chains, 1e-6 * leapfrog_rate(chaining),
      100 * share_of_adam(speed), 100 * chain_bar, 100 * chaining->launches / chaining->seconds);
}

static void write_steps(const RpinnDeviceSpeed *speed, RpinnText *text) {
  const RpinnDeviceStepping *stepping = &speed->stepping;
  double whole = iteration_seconds(stepping);
  if (!speed->has_steps) {
    rpinn_text_append(text, "\n  no cuBLAS: Levenberg-Marquardt takes its steps on the host\n");
    return;
  }
  rpinn_text_append(text, "\n  %-32s %9s %8s\n", "iteration of lm, darcy", "ms", "of it");
  for (size_t i = 0; i < RPINN_NUM_STAGES; i++)
    rpinn_text_append(text, "    %-30s %9.2f %7.1f%%\n", stage_names[i], 1e3 * stepping->stages[i],
                      100 * stepping->stages[i] / whole);
  rpinn_text_append(text, "    %-30s %9.2f %7.1f%%\n", "rows", 1e3 * stepping->rows,
                    100 * stepping->rows / whole);
  rpinn_text_append(text, "    %-30s %9.2f %7.1f%%\n", "gradient", 1e3 * stepping->gradient,
                    100 * stepping->gradient / whole);
  rpinn_text_append(
      text,
      "    all, %zu members one after the other  %.2f ms (bar %.0f); Gram matrices %.1f TFLOP/s, "
      "%.1f %% of FP64 tensor cores\n",
      stepping->num_members, 1e3 * whole, 1e3 * step_bar,
      1e-12 * stepping->gram_work / stepping->stages[RPINN_STAGE_GRAM], 100 * share_of_gram(speed));
}

char *rpinn_device_speed_text(const RpinnBench *bench) {
  const RpinnDeviceSpeed *speed = speed_of(bench);
  RpinnText text = {0};
  rpinn_text_append(
      &text,
      "one GPU against what it does in registers, in the same run\n%s; rpinn %s; medians of %zu "
      "repetitions\n\n ",
      speed->device, rpinn_version(), speed->repetitions);
  for (size_t i = 0; i < RPINN_NUM_DEVICE_PEAKS; i++)
    rpinn_text_append(&text, " %s %.1f%s", peak_names[i], 1e-12 * speed->peaks[i],
                      i + 1 < RPINN_NUM_DEVICE_PEAKS ? "," : " TFLOP/s\n\n");
  rpinn_text_append(&text, "  %-24s %-6s %8s %9s %9s %8s %9s %9s\n", "Adam iteration", "", "members", "ms",
                    "TFLOP/s", "of peak", "bar ms", "copies");
  for (size_t k = 0; k < speed->num_lines; k++) {
    const RpinnDeviceLine *line = &speed->lines[k];
    rpinn_text_append(&text, "  %-24s %-6s %8zu %9.4f %9.1f %7.1f%% %9.3f %8.1f%%\n", line->of->name,
                      line->is_tf32 ? "tf32" : "float", line->of->num_members, 1e3 * line->seconds,
                      1e-12 * line->work / line->seconds, 100 * share_of_line(speed, line),
                      1e3 * line->of->bars[line->is_tf32], 100 * (line->call - line->seconds) / line->call);
  }
  write_chains(speed, &text);
  write_steps(speed, &text);
  rpinn_text_append(&text,
                    "\n  predictions of darcy: %zu members at %zu points in %.2f ms, %.1f %% of FP32\n",
                    speed->prediction.num_members, speed->prediction.num_points,
                    1e3 * speed->prediction.seconds, 100 * share_of_prediction(speed));
  if (!text.failed) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}

/* ---- for programs ---- */

static void write_json_chains(const RpinnDeviceSpeed *speed, RpinnJson *json) {
  rpinn_json_open(json, "nuts", '{');
  rpinn_json_number(json, "chains", (double)speed->chaining.num_chains);
  rpinn_json_number(json, "leapfrogs", (double)speed->chaining.num_leapfrogs);
  rpinn_json_number(json, "seconds", speed->chaining.seconds);
  rpinn_json_number(json, "seconds_of_launches", speed->chaining.launches);
  rpinn_json_number(json, "share_of_adam", share_of_adam(speed));
  rpinn_json_number(json, "bar_share", chain_bar);
  rpinn_json_close(json, '}');
}

static void write_json_steps(const RpinnDeviceSpeed *speed, RpinnJson *json) {
  const RpinnDeviceStepping *stepping = &speed->stepping;
  rpinn_json_open(json, "lm_iteration", '{');
  rpinn_json_number(json, "members", (double)stepping->num_members);
  rpinn_json_number(json, "seconds", iteration_seconds(stepping));
  rpinn_json_number(json, "bar_seconds", step_bar);
  rpinn_json_number(json, "gram_flop", stepping->gram_work);
  rpinn_json_number(json, "gram_share_of_peak", share_of_gram(speed));
  rpinn_json_open(json, "stages", '{');
  for (size_t i = 0; i < RPINN_NUM_STAGES; i++) rpinn_json_number(json, stage_names[i], stepping->stages[i]);
  rpinn_json_number(json, "rows", stepping->rows);
  rpinn_json_number(json, "gradient", stepping->gradient);
  rpinn_json_close(json, '}');
  rpinn_json_close(json, '}');
}

char *rpinn_device_speed_json(const RpinnBench *bench) {
  const RpinnDeviceSpeed *speed = speed_of(bench);
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "device", speed->device);
  rpinn_json_text(&json, "version", rpinn_version());
  rpinn_json_number(&json, "repetitions", (double)speed->repetitions);
  rpinn_json_open(&json, "peaks_flop_per_second", '{');
  for (size_t i = 0; i < RPINN_NUM_DEVICE_PEAKS; i++)
    rpinn_json_number(&json, peak_names[i], speed->peaks[i]);
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "cases", '[');
  for (size_t k = 0; k < speed->num_lines; k++) {
    const RpinnDeviceLine *line = &speed->lines[k];
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "name", line->of->name);
    rpinn_json_text(&json, "precision", line->is_tf32 ? "tf32" : "float");
    rpinn_json_number(&json, "members", (double)line->of->num_members);
    rpinn_json_number(&json, "work_flop", line->work);
    rpinn_json_number(&json, "seconds_per_iteration", line->seconds);
    rpinn_json_number(&json, "seconds_with_copies", line->call);
    rpinn_json_number(&json, "share_of_peak", share_of_line(speed, line));
    rpinn_json_number(&json, "bar_seconds", line->of->bars[line->is_tf32]);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  if (speed->chaining.num_chains) write_json_chains(speed, &json);
  if (speed->has_steps) write_json_steps(speed, &json);
  rpinn_json_open(&json, "predictions", '{');
  rpinn_json_number(&json, "members", (double)speed->prediction.num_members);
  rpinn_json_number(&json, "points", (double)speed->prediction.num_points);
  rpinn_json_number(&json, "seconds", speed->prediction.seconds);
  rpinn_json_number(&json, "share_of_peak", share_of_prediction(speed));
  rpinn_json_close(&json, '}');
  rpinn_json_number(&json, "worst_share_of_bar", rpinn_device_speed_worst(bench));
  rpinn_json_close(&json, '}');
  rpinn_text_append(&text, "\n");
  if (!text.failed) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
