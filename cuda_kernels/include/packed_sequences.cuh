// Sequences of different lengths in one batch, without padding. To be included by kernels: #include "../include/packed_sequences.cuh".
//
// Queries of all sequences are behind each other, [rows, heads, columns], and so are keys and values. Of both, offsets, of one
// number more than there are sequences, say where each begins and the last one ends. Whatever offsets say, nothing outside of the
// operands is read; rows that no sequence has get zeros.
#pragma once

#include "attention_placement.cuh"
#include "groups.cuh"

// The operands of every kernel of them, and their names, as `packed.py` declares them.
#define PACKED_ATTENTION_OPERANDS(T)                                                                                    \
  const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, const int *__restrict__ query_offsets,     \
      const int *__restrict__ key_offsets, T *__restrict__ out, float scale, int left, int right, int sequences,        \
      int heads, int kv_heads, int queries, int keys, int dim, int value_dim

namespace cuda_kernels {

// The tile of a block in a grid with, for each head, as many blocks as all sequences, and the rows behind them, can have tiles
// of `Queries` queries: those of all rows, and one more for each.
template <int Queries>
struct PackedTile {
  int first, head;             // the first query, counted in its sequence
  int query_start, queries;    // of the sequence
  int key_start, keys;

  __device__ __forceinline__ PackedTile(const int* __restrict__ query_offsets, const int* __restrict__ key_offsets,
                                        int sequences, int heads, int query_rows, int key_rows) {
    const int tiles = gridDim.x / heads;
    head = blockIdx.x / tiles;
    // The last first: with a causal mask these are the longest.
    const Group found = group_of<Queries>(query_offsets + 1, sequences, query_rows, tiles - 1 - blockIdx.x % tiles);
    first = found.tile * Queries;
    query_start = found.start;
    queries = found.rows;
    key_start = start_of_group(key_offsets + 1, sequences, key_rows, found.number);
    keys = found.number >= sequences
               ? 0 : max(start_of_group(key_offsets + 1, sequences, key_rows, found.number + 1) - key_start, 0);
  }

  __device__ __forceinline__ bool is_empty() const { return first >= queries; }

  // To the first rows of the sequence.
  template <class Operand, class Result>
  __device__ __forceinline__ void move(
      Operand& q, Operand& k, Operand& v, Result& out, int heads, int kv_heads, int dim, int value_dim) const {
    q += static_cast<long long>(query_start) * heads * dim;
    k += static_cast<long long>(key_start) * kv_heads * dim;
    v += static_cast<long long>(key_start) * kv_heads * value_dim;
    out += static_cast<long long>(query_start) * heads * value_dim;
  }
};

}  // namespace cuda_kernels
