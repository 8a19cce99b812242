// Which queries an attention block computes, and where operands and results lie. To be included by kernels:
// #include "../include/attention_placement.cuh".
#pragma once

namespace cuda_kernels {

// The tile of a block in a grid with one block for each `Queries` queries of a head of a sequence. The grid has one
// dimension, because the others are limited to 65535, and heads times sequences may exceed that. The blocks of a head are
// adjacent, because they read the same keys. The last queries come first: in a causal head they have the most keys.
template <int Queries>
struct QueryTile {
  int first, head, sequence;

  __device__ __forceinline__ QueryTile(int queries, int heads) {
    // Broadcast, so that the compiler knows it is uniform and keeps it in uniform registers.
    const auto same = [](int number) { return __shfl_sync(~0u, number, 0); };
    const int tiles = (queries + Queries - 1) / Queries, all_heads = blockIdx.x / tiles;
    first = same((tiles - 1 - (static_cast<int>(blockIdx.x) - all_heads * tiles)) * Queries);
    sequence = same(all_heads / heads);
    head = same(all_heads - sequence * heads);
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
