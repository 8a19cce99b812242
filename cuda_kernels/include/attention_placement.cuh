// Where attention writes its result, to be included by kernels: #include "include/attention_placement.cuh".
#pragma once

namespace cuda_kernels {

// Where the result of a query and head lies, in elements: of [batch, heads, queries, Dim], or of [batch, queries, heads,
// Dim], where what belongs to a position stands together.
template <int Dim, bool ByPosition>
struct Placement {
  int heads, queries;

  __device__ __forceinline__ long long of(int sequence, int head, int query) const {
    const long long row = ByPosition ? (static_cast<long long>(sequence) * queries + query) * heads + head
                                     : (static_cast<long long>(sequence) * heads + head) * queries + query;
    return row * Dim;
  }

  // From one query of a head to the next.
  __device__ __forceinline__ long long step() const { return ByPosition ? static_cast<long long>(heads) * Dim : Dim; }
};

}  // namespace cuda_kernels
