/* A step of Levenberg–Marquardt in data space, between slopes of points and d; RpinnDeviceStep has the formulas. All sums are in double
 * and in an order of their own that depends on nothing but the problem.
 *
 * SOLVE: a block has a member. G's lower triangle becomes the factor L of I + J A^-1 J^T = L L^T, panel by panel of columns from the left;
 * each panel first takes what the panels before it owe (left-looking: L is read often and written once). The right-hand side is one more
 * row of the matrix, so that L^-1 (r - J A^-1 q) comes out of the same loops; then L^T y = that, from the last panel back. */
#ifndef RPINN_BACKEND_CUDA_DAMPED_STEP_CUH
#define RPINN_BACKEND_CUDA_DAMPED_STEP_CUH

#include "jacobian_products.cuh"

/* ---- to W and from y ---- */

/* first, step: of this thread among those of all blocks of the member, here and below. */
RPINN_INLINE void take_roots(const RpinnDeviceWork &work, const RpinnDeviceStep &step, int64_t k, int64_t first, int64_t stride) {
  double *roots = step.roots + k * work.num_parameters;
  for (int64_t j = first; j < work.num_parameters; j += stride) roots[j] = sqrt(roots[j]);
}

/* Row `row` of W of the member whose matrix is number `place`; row M is A^-1/2 q. */
template <class Real>
RPINN_INLINE void weigh_row(const RpinnDeviceWork &work, const RpinnDeviceStep &step, int64_t place, int row, int first, int stride) {
  int N = work.num_parameters, M = work.num_rows;
  int64_t k = step.first + place;
  const double *roots = step.roots + k * N, *pull = step.pull ? step.pull + k * N : 0;
  double *out = step.weighed + (place * (M + 1) + row) * step.weighed_stride;
  for (int64_t j = N + first; j < step.weighed_stride; j += stride) out[j] = 0;
  if (row == M) {
    for (int j = first; j < N; j += stride) out[j] = pull ? pull[j] * roots[j] : 0.0;
    return;
  }
  const RpinnDeviceItem &item = item_of_row(work, row);
  int own = row - item.first_row;
  const Real *slopes = (const Real *)step.slopes + (k * work.num_results + item.first_result) * (int64_t)N;
  if (item.mix < 0) {
    slopes += (int64_t)own * N;
    for (int j = first; j < N; j += stride) out[j] = (double)slopes[j] * roots[j];
    return;
  }
  const double *scales = step.row_scale + k * step.scale_step + item.first_row;
  const double *mix = work.numbers + item.mix + (int64_t)own * item.num_points;
  double ratio = row_ratio(scales, own);
  for (int j = first; j < N; j += stride) {
    double sum = 0;
    for (int p = 0; p < item.num_points; p++) sum += mix[p] * (double)slopes[(int64_t)p * N + j];
    out[j] = sum * ratio * roots[j];
  }
}

template <class Real>
RPINN_INLINE void finish_step(const RpinnDeviceWork &work, const RpinnDeviceStep &step, int64_t k, int64_t first, int64_t stride) {
  int64_t N = work.num_parameters;
  const double *roots = step.roots + k * N, *pull = step.pull ? step.pull + k * N : 0, *weights = step.weights + k * work.num_results;
  const Real *slopes = (const Real *)step.slopes + k * work.num_results * N;
  for (int64_t j = first; j < N; j += stride) {
    double sum = 0;
    for (int p = 0; p < work.num_results; p++) sum += (double)slopes[p * N + j] * weights[p];
    step.step[k * N + j] = -(roots[j] * roots[j]) * (sum + (pull ? pull[j] : 0.0));
  }
}

/* ---- the factor ---- */

enum { STEP_PANEL = 32, STEP_STRIP = 64, STEP_DEPTH = 16, STEP_PARTS = 8 };

/* What a block needs at hand. */
struct StepMemory {
  double left[STEP_STRIP][STEP_DEPTH + 1];  /* rows of L of a strip … */
  double right[STEP_PANEL][STEP_DEPTH + 1]; /* … and of the panel, some columns of each */
  double strip[STEP_STRIP][STEP_PANEL + 1]; /* a strip of the panel's columns */
  double corner[STEP_PANEL][STEP_PANEL + 1]; /* the factor's panel on the diagonal */
  double parts[STEP_PARTS][STEP_PANEL];
  double trace;
  int failed;
};

struct StepMatrix {
  double *at;
  int64_t stride;
  int num_rows, num_columns; /* one row more than columns */
};

/* Columns [first, first + count) of rows [row, row + num_rows) to `to`. */
template <int WIDTH>
RPINN_INLINE void load_rows(const Team &team, const StepMatrix &G, int row, int num_rows, int first, int count, double (*to)[WIDTH]) {
  for (int index = team.thread; index < num_rows * count; index += team.num_threads)
    to[index / count][index % count] = G.at[(row + index / count) * G.stride + first + index % count];
}

/* strip -= left right^T, of `depth` columns: pieces of 4 x 2. */
RPINN_INLINE void take_products(const Team &team, StepMemory &memory, int depth) {
  for (int piece = team.thread; piece < STEP_STRIP / 4 * (STEP_PANEL / 2); piece += team.num_threads) {
    int row = piece / (STEP_PANEL / 2), column = piece % (STEP_PANEL / 2);
    double sum[4][2];
    RPINN_UNROLL
    for (int i = 0; i < 4; i++) sum[i][0] = sum[i][1] = 0;
    for (int k = 0; k < depth; k++) {
      double right[2] = {memory.right[column][k], memory.right[column + STEP_PANEL / 2][k]};
      RPINN_UNROLL
      for (int i = 0; i < 4; i++) {
        double left = memory.left[row + i * (STEP_STRIP / 4)][k];
        sum[i][0] += left * right[0];
        sum[i][1] += left * right[1];
      }
    }
    RPINN_UNROLL
    for (int i = 0; i < 4; i++) {
      memory.strip[row + i * (STEP_STRIP / 4)][column] -= sum[i][0];
      memory.strip[row + i * (STEP_STRIP / 4)][column + STEP_PANEL / 2] -= sum[i][1];
    }
  }
}

/* The panel of the diagonal, its factor in place. */
RPINN_INLINE void factor_corner(const Team &team, StepMemory &memory, int width) {
  for (int j = 0; j < width; j++) {
    double pivot = memory.corner[j][j];
    if (!(pivot > 0 && pivot < HUGE_VAL)) { /* all threads see the same */
      if (team.thread == 0) memory.failed = 1;
      barrier();
      return;
    }
    double root = sqrt(pivot);
    barrier();
    for (int i = j + team.thread; i < width; i += team.num_threads)
      memory.corner[i][j] = i == j ? root : memory.corner[i][j] / root;
    barrier();
    int left = width - j - 1;
    for (int index = team.thread; index < left * left; index += team.num_threads) {
      int i = j + 1 + index / left, l = j + 1 + index % left;
      if (l <= i) memory.corner[i][l] -= memory.corner[i][j] * memory.corner[l][j];
    }
    barrier();
  }
}

/* A strip of the panel at `first`: rows [row, row + num_rows). */
RPINN_INLINE void factor_strip(const Team &team, const StepMatrix &G, StepMemory &memory, int first, int width, int row, int num_rows) {
  load_rows(team, G, row, num_rows, first, width, memory.strip);
  for (int begin = 0; begin < first; begin += STEP_DEPTH) {
    int depth = least(STEP_DEPTH, first - begin);
    barrier();
    load_rows(team, G, row, num_rows, begin, depth, memory.left);
    load_rows(team, G, first, width, begin, depth, memory.right);
    barrier();
    take_products(team, memory, depth);
  }
  barrier();
  int behind = row == first ? width : 0; /* rows of the strip on the diagonal */
  if (behind) {
    for (int index = team.thread; index < width * width; index += team.num_threads)
      memory.corner[index / width][index % width] = memory.strip[index / width][index % width];
    barrier();
    factor_corner(team, memory, width);
    if (memory.failed) return;
    for (int index = team.thread; index < width * width; index += team.num_threads)
      memory.strip[index / width][index % width] = memory.corner[index / width][index % width];
  }
  for (int i = behind + team.thread; i < num_rows; i += team.num_threads)
    for (int j = 0; j < width; j++) {
      double sum = memory.strip[i][j];
      for (int l = 0; l < j; l++) sum -= memory.strip[i][l] * memory.corner[j][l];
      memory.strip[i][j] = sum / memory.corner[j][j];
    }
  barrier();
  for (int index = team.thread; index < num_rows * width; index += team.num_threads) {
    int i = index / width, j = index % width;
    if (i >= behind || j <= i) G.at[(row + i) * G.stride + first + j] = memory.strip[i][j];
  }
  barrier();
}

RPINN_INLINE void factor_matrix(const Team &team, const StepMatrix &G, StepMemory &memory) {
  /* Pieces of products reach over the edges of small panels and strips: what lies there is finite, and not used. */
  for (int index = team.thread; index < STEP_STRIP * STEP_DEPTH; index += team.num_threads) {
    memory.left[index / STEP_DEPTH][index % STEP_DEPTH] = 0;
    if (index < STEP_PANEL * STEP_DEPTH) memory.right[index / STEP_DEPTH][index % STEP_DEPTH] = 0;
  }
  for (int index = team.thread; index < STEP_STRIP * STEP_PANEL; index += team.num_threads)
    memory.strip[index / STEP_PANEL][index % STEP_PANEL] = 0;
  barrier();
  for (int first = 0; first < G.num_columns; first += STEP_PANEL) {
    int width = least(STEP_PANEL, G.num_columns - first);
    for (int row = first; row < G.num_rows; row += STEP_STRIP) {
      factor_strip(team, G, memory, first, width, row, least(STEP_STRIP, G.num_rows - row));
      if (memory.failed) return;
    }
  }
}

/* L^T y = z, in the place of z: the last row of the matrix. */
RPINN_INLINE void solve_back(const Team &team, const StepMatrix &G, StepMemory &memory) {
  int n = G.num_columns;
  double *y = G.at + n * G.stride;
  for (int first = (n - 1) / STEP_PANEL * STEP_PANEL; first >= 0; first -= STEP_PANEL) {
    int width = least(STEP_PANEL, n - first), below = first + width;
    load_rows(team, G, first, width, first, width, memory.corner);
    for (int index = team.thread; index < STEP_PARTS * width; index += team.num_threads) {
      int part = index / width, j = index % width;
      double sum = 0;
      for (int i = below + part; i < n; i += STEP_PARTS) sum += G.at[i * G.stride + first + j] * y[i];
      memory.parts[part][j] = sum;
    }
    barrier();
    for (int j = width - 1; j >= 0 && team.thread == 0; j--) {
      double sum = y[first + j];
      for (int part = 0; part < STEP_PARTS; part++) sum -= memory.parts[part][j];
      for (int l = j + 1; l < width; l++) sum -= memory.corner[l][j] * y[first + l];
      y[first + j] = sum / memory.corner[j][j];
    }
    barrier();
  }
}

/* ---- the whole ---- */

/* From G to the weights of points; without rows, to the trace. */
RPINN_INLINE void solve_step(const Team &team, const RpinnDeviceWork &work, const RpinnDeviceStep &step, int64_t k, StepMemory &memory) {
  int M = work.num_rows;
  StepMatrix G = {step.gram + k * (M + 1) * step.gram_stride, step.gram_stride, M + 1, M};
  double *y = G.at + M * G.stride, *outcome = step.outcome + 2 * k;
  if (team.thread == 0) {
    memory.failed = 0;
    memory.trace = 0;
    for (int i = 0; i < M; i++) memory.trace += G.at[i * G.stride + i];
    outcome[0] = memory.trace;
    outcome[1] = 0;
  }
  barrier();
  if (!step.rows) return;
  for (int i = team.thread; i < M; i += team.num_threads) {
    G.at[i * G.stride + i] += 1;
    y[i] = step.rows[k * M + i] - y[i];
  }
  barrier();
  factor_matrix(team, G, memory);
  if (memory.failed) return;
  solve_back(team, G, memory);
  for (int t = 0; t < work.num_items; t++) {
    const RpinnDeviceItem &item = work.items[t];
    const double *scales = step.row_scale + k * step.scale_step + item.first_row, *own = y + item.first_row;
    for (int p = team.thread; p < item.num_points; p += team.num_threads) {
      double weight = 0;
      if (item.mix < 0)
        weight = own[p];
      else
        for (int j = 0; j < item.num_rows; j++)
          weight += work.numbers[item.mix + (int64_t)j * item.num_points + p] * row_ratio(scales, j) * own[j];
      step.weights[k * work.num_results + item.first_result + p] = weight;
    }
  }
  if (team.thread == 0) outcome[1] = 1;
}

#endif
