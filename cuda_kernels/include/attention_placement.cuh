// Which queries an attention block computes, and where it writes their result. To be included by kernels:
// #include "../include/attention_placement.cuh".
#pragma once

#include "head_sizes.cuh"

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

// The offset of a query and head in the result, in elements. The result is [batch, heads, queries, value_dim], or [batch,
// queries, heads, value_dim], where all heads of a position are adjacent.
template <class Head, bool ByPosition>
struct Placement {
  Head head_sizes;
  int heads, queries;

  __device__ __forceinline__ long long of(int sequence, int head, int query) const {
    const long long row = ByPosition ? (static_cast<long long>(sequence) * queries + query) * heads + head
                                     : (static_cast<long long>(sequence) * heads + head) * queries + query;
    return row * head_sizes.value_dim();
  }

  // The step from one query of a head to the next.
  __device__ __forceinline__ long long step() const {
    return ByPosition ? static_cast<long long>(heads) * head_sizes.value_dim() : head_sizes.value_dim();
  }
};

}  // namespace cuda_kernels
