// Which queries an attention block computes, and where operands and results lie. To be included by kernels:
// #include "../include/attention_placement.cuh".
#pragma once

// The operands of every kernel of attention without a cache, and their names, as `signature.py` declares them.
#define ATTENTION_OPERANDS(T)                                                                                             \
  const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, const void *__restrict__ mask,               \
      T *__restrict__ out, float scale, bool causal, int batches, int heads, int kv_heads, int queries, int keys,         \
      int mask_rows, bool mask_is_bool, int dim, int value_dim, const int *__restrict__ spans, int mask_batches, int mask_heads

namespace cuda_kernels {

// How often the keys and values of so many heads fit into 16 MiB, which are in the L2 cache beside other data and, on an H100,
// the copies in its other half.
__device__ __forceinline__ float fit_l2(int heads_of_keys, int keys, int columns_of_key) {
  constexpr float kElements = 1 << 23;  // of 16 bits
  return kElements / (static_cast<float>(max(heads_of_keys, 1)) * static_cast<float>(max(keys, 1)) * columns_of_key);
}

// How many heads take turns, so that the longest tiles of all of them come first. Which heads have tiles of different lengths:
// those of a causal mask, or one that most likely is. All of them would balance the load best, but their keys and values
// should stay in the L2 cache. Otherwise one: the tiles of a head side by side, which read the same keys.
__device__ __forceinline__ int heads_in_turns(
    bool differ, int all_heads, int heads, int kv_heads, int keys, int columns_of_key) {
  if (!differ) return 1;
  const float fit = fit_l2(1, keys, columns_of_key) * heads / kv_heads;
  return max(1, min(all_heads, static_cast<int>(fminf(fit, 1e9f))));
}

// Which tile of which head has a place in the order of all: the last tiles of heads, which are the longest, come first.
struct PlacedTile {
  int tile, head;

  __device__ __forceinline__ PlacedTile(int place, int tiles, int all_heads, int in_turns) {
    const int group = place / (in_turns * tiles), number = place - group * in_turns * tiles;
    const int count = min(in_turns, all_heads - group * in_turns);
    const int turn = number / count;
    tile = tiles - 1 - turn;
    head = group * in_turns + number - turn * count;
  }
};

// The tile of a block in a grid with one block for each `Queries` queries of a head of a sequence. The grid has one
// dimension, because the others are limited to 65535, and heads times sequences may exceed that.
template <int Queries>
struct QueryTile {
  int first, head, sequence;

  __device__ __forceinline__ QueryTile(int queries, int heads, int in_turns = 1) {
    // Broadcast, so that the compiler knows it is uniform and keeps it in uniform registers.
    const auto same = [](int number) { return __shfl_sync(~0u, number, 0); };
    const int tiles = (queries + Queries - 1) / Queries;
    const PlacedTile placed(blockIdx.x, tiles, gridDim.x / tiles, in_turns);
    first = same(placed.tile * Queries);
    sequence = same(placed.head / heads);
    head = same(placed.head - sequence * heads);
  }
};

// Which keys a query sees, beside a mask: by their numbers, from its own number plus `before` to its own plus `behind`.
struct KeyWindow {
  bool begins, ends;  // else all before, or behind
  int before, behind;

  // Of a causal mask, without lengths: those up to its own number.
  __device__ __forceinline__ explicit KeyWindow(bool causal) : begins(false), ends(causal), before(0), behind(0) {}

  // The last query is at the last key, and each sees `left` keys before its own one and `right` behind it; a negative
  // number is no limit.
  __device__ __forceinline__ KeyWindow(int left, int right, int queries, int keys)
      : begins(left >= 0),
        ends(right >= 0),
        before(keys - queries - min(left, 1 << 30)),
        behind(keys - queries + min(right, 1 << 30)) {}

  // Of `queries` queries from `first` on, the end and the beginning of the keys that any of them sees, of those from 0 to `end`.
  __device__ __forceinline__ int end_of(int first, int queries, int end) const {
    return ends ? max(min(end, first + queries + behind), 0) : end;
  }
  __device__ __forceinline__ int begin_of(int first, int begin) const { return begins ? max(begin, first + before) : begin; }

  __device__ __forceinline__ bool shows(int query, int key) const {
    return !(ends && key > query + behind) && !(begins && key < query + before);
  }
};

// The template argument of kernels that says how their operands and results lie.
constexpr int kByHeads = 0, kResultByPosition = 1, kByPosition = 2;
template <int Layout>
constexpr bool kPlacesOperands = Layout == kByPosition;
template <int Layout>
constexpr bool kPlacesResults = Layout != kByHeads;

// Where the rows of heads are, in elements: in [batch, heads, rows, columns], or, by position, in [batch, rows, heads,
// columns], where all heads of a position are adjacent, as a projection leaves them.
template <bool ByPosition>
struct Placement {
  int heads, rows, columns;

  __device__ __forceinline__ long long of(int sequence, int head, int row) const {
    const long long number = ByPosition ? (static_cast<long long>(sequence) * rows + row) * heads + head
                                        : (static_cast<long long>(sequence) * heads + head) * rows + row;
    return number * columns;
  }

  // The step from one row of a head to the next.
  __device__ __forceinline__ int step() const { return ByPosition ? heads * columns : columns; }
};

}  // namespace cuda_kernels
