// What the kernels of few queries compute, and their partial results: to be included by kernels:
// #include "../include/decode_problem.cuh".
#pragma once

#include "attention_placement.cuh"
#include "attention_softmax.cuh"
#include "decode_work.cuh"

namespace cuda_kernels {

// Where the keys and values of sequences are, which are of type U: [batch, kv_heads, cache, dim] or by position; with pages,
// [pages, kv_heads, page_size, dim] or by position, of which a sequence has those that its row of the table says.
template <class U, bool HasPages>
struct Caches {
  using Type = U;
  static constexpr bool kHasPages = HasPages;
  const int* table = nullptr;  // [batch, table_width]
  int pages = 0, page_size = 0, table_width = 0;
  // What keys and values are multiples of, of each head of keys or one for all; null if of 1.
  const float* key_scales = nullptr;
  const float* value_scales = nullptr;
  int scales = 1;

  __device__ __forceinline__ float scale(const float* of, int kv_head) const {
    return of == nullptr ? 1.0f : of[scales == 1 ? 0 : kv_head];
  }
};

// What a call computes, beside sizes and places: the operands of the kernels below.
template <class T, class Cache, class... Form>
struct Problem {
  const void* mask;
  const int* spans;
  const int* lengths;  // of sequences, or null
  int mask_batches, mask_heads, mask_rows;
  bool mask_is_bool, causal;
  float scale;
  int heads, kv_heads, queries, cache;
  Cache caches;
  ScoreForm<T, Form...> form;
  int window = 0;  // keys that a query sees up to its own; 0 for all
  static constexpr bool kIsUsual = sizeof...(Form) == 0;

  // The keys of a sequence.
  __device__ __forceinline__ int keys(int sequence) const {
    return lengths == nullptr ? cache : max(0, min(lengths[sequence], cache));
  }
  // The most keys that all queries of a sequence see together, in steps of so many.
  __device__ __forceinline__ int reach(int step) const {
    return window > 0 && window < cache - queries - step ? window + queries + step : cache;
  }
};

// The last operands of kernels with caches: a window, which may be absent, behind the scales of caches of 8 bits.
__device__ __forceinline__ int window_of(const int* window) { return window == nullptr ? 0 : *window; }
__device__ __forceinline__ int window_of(const float*, const float*, int, const int* window) { return window_of(window); }
template <class Cache>
__device__ __forceinline__ Cache with_scales(Cache cache, const int*) {
  return cache;
}
template <class Cache>
__device__ __forceinline__ Cache with_scales(
    Cache cache, const float* key_scales, const float* value_scales, int scales, const int*) {
  cache.key_scales = key_scales, cache.value_scales = value_scales, cache.scales = scales;
  return cache;
}

// Of the rows of a partial result: the maximum, as a power of two, and the sum of weights (the log-sum-exp in two parts).
template <int Rows>
struct RowSums {
  float maxima[Rows], weights[Rows];
};

// Four columns of a row of a result, before it is divided by the sum of its weights.
struct Four {
  float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
  float maximum = -INFINITY, weight = 0.0f;

  // Adds those of another partial result.
  __device__ __forceinline__ void add(float other_maximum, float other_weight, const float4& other) {
    const float high = fmaxf(maximum, other_maximum), base = high == -INFINITY ? 0.0f : high;
    const float old = power_of_two(maximum - base), share = power_of_two(other_maximum - base);
    sum.x = sum.x * old + other.x * share;
    sum.y = sum.y * old + other.y * share;
    sum.z = sum.z * old + other.z * share;
    sum.w = sum.w * old + other.w * share;
    weight = weight * old + other_weight * share;
    maximum = high;
  }
};

// A tile of rows of a sequence and a head of keys, and a worker's steps of it.
template <class T, class Cache, class... Form>
struct TilePart {
  int batch, kv_head, first_row, rows;
  int masks, keys;
  HeadMask of_head;
  TileMask of_tile;
  int seen, seen_by_all;  // keys that some of its queries see, and all
  int hidden;             // those before it are not seen by some
  int begin, end;         // of the worker's steps

  template <int Rows, int StepKeys>
  __device__ __forceinline__ static TilePart of(const Problem<T, Cache, Form...>& problem, const Piece& piece, int tiles) {
    const int group = problem.heads / problem.kv_heads, all_rows = group * problem.queries;
    const int tile = piece.number % tiles, kv_head = piece.number / tiles, batch = piece.sequence;
    const int first_row = tile * Rows, rows = min(Rows, all_rows - first_row);
    const int masks = problem.mask_heads == 1 ? 1 : group, keys = problem.keys(batch);
    const HeadMask of_head(problem.mask, problem.spans, problem.mask_is_bool, sizeof(T), problem.mask_batches,
                           problem.mask_heads, problem.mask_rows, keys, batch, kv_head * group,
                           ScoreForm<T, Form...>::kMayHide);
    const Span span = of_head.span_of_heads(masks);
    const TileMask of_tile = of_head.of_tile(0, span);
    TilePart found{batch, kv_head, first_row, rows, masks, keys, of_head, of_tile, 0, 0, 0, 0, 0};
    // Of the tile's queries, the first sees the fewest keys and the last the most, if they see only those before them.
    const bool is_one_head = first_row / problem.queries == (first_row + rows - 1) / problem.queries;
    const int first_query = is_one_head ? first_row % problem.queries : 0;
    const int last_query = is_one_head ? (first_row + rows - 1) % problem.queries : problem.queries - 1;
    found.seen = min(found.seen_by(problem, last_query), span.end);
    found.seen_by_all = found.seen_by(problem, first_query);
    const bool has_window = problem.window > 0;
    found.hidden = has_window ? found.seen_by(problem, last_query) - problem.window : 0;
    const int first_seen = has_window ? max(0, found.seen_by_all - problem.window) : span.begin;
    const int first_step = min(first_seen, max(found.seen, 0)) / StepKeys;
    const int steps = max((found.seen + StepKeys - 1) / StepKeys - first_step, 0);
    found.begin = first_step + piece.part(piece.begin, steps);
    found.end = first_step + piece.part(piece.end, steps);
    return found;
  }

  // Keys that each query sees beside those up to its own index, if causal.
  __device__ __forceinline__ int before(const Problem<T, Cache, Form...>& problem) const {
    return problem.lengths == nullptr ? 0 : keys - problem.queries;
  }
  // Hides the keys before a window from two queries: scores of blocks of 8 keys, from `key` on in the tile from `start` on.
  template <int Size>
  __device__ __forceinline__ void hide_before(
      const Problem<T, Cache, Form...>& problem, float (&scores)[Size], const int (&queries)[2], int start, int key) const {
    if (start >= hidden) return;
    const int limits[2] = {seen_by(problem, queries[0]) - problem.window - key,
                           seen_by(problem, queries[1]) - problem.window - key};
#pragma unroll
    for (int i = 0; i < Size; ++i)
      if (i / 4 * 8 + i % 2 < limits[i % 4 / 2]) scores[i] = -INFINITY;
  }
  __device__ __forceinline__ int seen_by(const Problem<T, Cache, Form...>& problem, int query) const {
    return problem.causal ? min(keys, query + 1 + before(problem)) : keys;
  }
};

// Where the results of a part go: rows of the results of its heads.
template <class T, class Head, int Layout, class Part, class OfProblem>
struct PartResults {
  const OfProblem& problem;
  const Part& part;
  const Head& head_sizes;
  T* out;
  bool packs;  // four columns at once
  static constexpr int kFours = Head::kValueColumns / 4;  // of a row of a partial result
  static constexpr int kFloats = Head::kValueColumns;

  __device__ __forceinline__ int head(int row) const {
    return part.kv_head * (problem.heads / problem.kv_heads) + (part.first_row + row) / problem.queries;
  }
  __device__ __forceinline__ T* of(int row) const {
    const Placement<kPlacesResults<Layout>> place{problem.heads, problem.queries, head_sizes.value_dim()};
    return out + place.of(part.batch, head(row), (part.first_row + row) % problem.queries);
  }
  // What a row's sums are multiplied by: divided by its weights, with a head's sink among them.
  __device__ __forceinline__ float share(int row, float maximum, float weight) const {
    if constexpr (!OfProblem::kIsUsual) weight += problem.form.sinks.weight(head(row), maximum);
    return weight == 0.0f ? 0.0f : problem.caches.scale(problem.caches.value_scales, part.kv_head) / weight;
  }
  // Four columns: number `at` of all of the tile.
  __device__ __forceinline__ void store(int at, const Four& four) const {
    const int row = at / kFours, column = at % kFours * 4;
    const float factor = share(row, four.maximum, four.weight);
    T* const to = of(row) + column;
    const float values[4] = {four.sum.x * factor, four.sum.y * factor, four.sum.z * factor, four.sum.w * factor};
    if (packs && (Head::kIsExact || column < head_sizes.value_dim())) {
      *reinterpret_cast<uint2*>(to) = make_uint2(packed_pair<T>(values[0], values[1]), packed_pair<T>(values[2], values[3]));
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (Head::kIsExact || column + i < head_sizes.value_dim()) to[i] = static_cast<T>(values[i]);
    }
  }
};

// The partial results of workers in memory: two of each, of `Rows` rows, with their maxima and sums of weights behind.
template <int Rows, int Columns>
struct WorkersResults {
  float* results;
  static constexpr int kPartial = Rows * Columns + 2 * Rows;

  __device__ __forceinline__ float* of(int worker, int slot) const { return results + (2 * worker + slot) * kPartial; }

  __device__ __forceinline__ void write(float* of_worker, int at, const Four& four) const {
    constexpr int fours = Columns / 4;
    reinterpret_cast<float4*>(of_worker)[at] = four.sum;
    if (at % fours == 0) {
      of_worker[Rows * Columns + at / fours] = four.maximum;
      of_worker[Rows * Columns + Rows + at / fours] = four.weight;
    }
  }

  // Four columns of all workers from `first` to `last`, in this order.
  __device__ __forceinline__ Four combined(int first, int first_slot, int last, int at) const {
    Four four;
#pragma unroll 16
    for (int each = first; each <= last; ++each) {
      const float* const other = of(each, each == first ? first_slot : 0);
      const float* const of_rows = other + Rows * Columns + at / (Columns / 4);
      four.add(__ldcg(of_rows), __ldcg(of_rows + Rows), __ldcg(reinterpret_cast<const float4*>(other) + at));
    }
    return four;
  }
};

}  // namespace cuda_kernels
