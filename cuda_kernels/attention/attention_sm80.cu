// Attention forward on tensor cores (sm_80 and later): softmax(q k^T * scale + mask) v for queries
// [batch, heads, queries, dim], keys [batch, kv_heads, keys, dim] and values [batch, kv_heads, keys, value_dim], of f16 or
// bf16. Head says which dims: one of 64 or 128, or any up to 256, padded with zeros in shared memory (head_sizes.cuh).
// Several heads share a head of keys and values where heads is a multiple of kv_heads. A causal query sees the
// keys up to its own index. The mask may be absent (null); floats are added, bools select visible keys. A query
// that sees no key gets zeros.
//
// The idea (FlashAttention-2). A block has kQueries queries of one head and goes over the keys tile by tile. A warp
// has 16 * Parts of the queries and does everything for them: scores = queries keys^T on the tensor cores, the online
// softmax (`../include/attention_tiles.cuh`) on the accumulators in its registers, and result += weights values on the
// tensor cores again. The weights need not move for that: two adjacent columns of a 16 x 8 accumulator, rounded to 16
// bits, are a register of the next product's operand A. So scores never leave the registers, and warps synchronise only
// where a tile in shared memory changes.
//
// Memory traffic: each query is read and each result written once. Every block reads the keys and values of its
// head; blocks of one head run side by side, so that all but the first find them in the L2 cache. Per tile of
// 64 keys and 128 queries of 128 columns that is 32 KB for 4.2 million multiply-adds: 128 per byte.
//
// The pipeline, with one tile of keys and one of values in shared memory, copied asynchronously (cp.async):
//
//   copies    keys 0 | values 0          | keys 1            | values 1          | keys 2 ...
//   warps            | scores 0: q keys  | softmax, values 0 | scores 1          | softmax, values 1 ...
//
// With Staged = 1, numbers of a mask come with the values, and are read by ldmatrix as scores have them. The operands of Form
// are those of `../include/score_form.cuh`.
//
// Each copy overlaps half a tile's work, and two blocks fit on a multiprocessor (64 KB each at 128 columns), which hide each
// other's latency.

#include "../include/attention_placement.cuh"
#include "../include/attention_tiles.cuh"
#include "../include/packed_sequences.cuh"

namespace cuda_kernels {

// What a block does: queries from `first` on of a head of a sequence.
template <int Keys, int Warps, int Parts, int Layout, int Staged, class T, class Head, class Scores>
__device__ __forceinline__ void attend(const Head& head_sizes,
                                       const T* __restrict__ q,
                                       const T* __restrict__ k,
                                       const T* __restrict__ v,
                                       const void* __restrict__ mask,
                                       T* __restrict__ out,
                                       float scale,
                                       const KeyWindow& window,
                                       int heads,
                                       int kv_heads,
                                       int queries,
                                       int keys,
                                       int mask_rows,
                                       bool mask_is_bool,
                                       const int* __restrict__ spans,
                                       int mask_batches,
                                       int mask_heads,
                                       int first,
                                       int head,
                                       int batch,
                                       const Scores& of_scores) {
  constexpr int kThreads = 32 * Warps, kQueries = 16 * Parts * Warps;
  constexpr int kColumns = Head::kColumns, kValueColumns = Head::kValueColumns;
  constexpr bool kHoldsQueries = Parts * kColumns <= 128;  // in registers, else they are read from shared memory again
  extern __shared__ __align__(128) char shared[];
  const unsigned query_tile = shared_address(shared);
  const unsigned key_tile = query_tile + kTileBytes<kQueries, kColumns>;
  const unsigned value_tile = key_tile + kTileBytes<Keys, kColumns>;
  const unsigned number_tile = value_tile + kTileBytes<Keys, kValueColumns>;  // of the mask, if Staged

  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16 * Parts;
  const int key_head = static_cast<int>(static_cast<long long>(head) * kv_heads / heads);
  bool packs = aligned(q, k, v), stores_packs = aligned(out);
  if constexpr (!Head::kIsExact) {
    packs &= are_packs<T>(head_sizes);
    stores_packs &= head_sizes.value_dim() % 8 == 0;
  }
  const Placement<kPlacesOperands<Layout>> of_q{heads, queries, head_sizes.dim()}, of_k{kv_heads, keys, head_sizes.dim()},
      of_v{kv_heads, keys, head_sizes.value_dim()};
  const Placement<kPlacesResults<Layout>> place{heads, queries, head_sizes.value_dim()};
  q += of_q.of(batch, head, 0);
  k += of_k.of(batch, key_head, 0);
  v += of_v.of(batch, key_head, 0);
  out += place.of(batch, head, 0);
  const HeadMask of_head(mask, spans, mask_is_bool, sizeof(T), mask_batches, mask_heads, mask_rows, keys, batch, head,
                         Scores::kMayHide);
  const Span span = of_head.span(first, kQueries);
  __shared__ TileMask of_warps[Warps];  // where it takes no registers
  TileMask& of_warp = of_warps[threadIdx.x / 32];
  if (lane == 0) of_warp = of_head.of_tile(first, of_head.span(first + warp_row, 16 * Parts));
  __syncwarp();
  const Scoring<T, Scores> scoring{of_scores, of_warp, window.ends, scale, window.behind, window.begins, window.before};
  const float factor = scoring.factor();

  // Where this lane's rows of ldmatrix lie: of queries, rows by 16 and columns by 8; of keys, the other way round;
  // of values, which are transposed, as of queries. Columns d change nothing but bits: `^ d * 2`.
  const unsigned query_rows = query_tile + tile_offset<kQueries>(warp_row + lane % 16, lane / 16);
  const unsigned key_rows = key_tile + tile_offset<Keys>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
  const unsigned value_rows = value_tile + tile_offset<Keys>(lane % 16, lane / 16);

  float result[Parts][kValueColumns / 2], scores[Parts][Keys / 2];
  unsigned held[kHoldsQueries ? Parts : 1][kHoldsQueries ? kColumns / 16 : 1][4];
  Softmax softmax[Parts];
#pragma unroll
  for (int p = 0; p < Parts; ++p)
#pragma unroll
    for (int i = 0; i < kValueColumns / 2; ++i) result[p][i] = 0.0f;

  __shared__ TileMask of_block;
  if (Staged > 0 && threadIdx.x == 0) of_block = of_head.of_tile(first, span);

  const int end = window.end_of(first, kQueries, span.end);
  const int begin = min(window.begin_of(first, span.begin), end) / Keys * Keys;
  copy_tile<kQueries, kColumns, kThreads, Head::kIsExact>(
      query_tile, q, head_sizes.dim(), of_q.step(), first, queries, threadIdx.x, packs);
  if constexpr (kHoldsQueries) {
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
#pragma unroll
    for (int p = 0; p < Parts; ++p)
#pragma unroll
      for (int d = 0; d < kColumns; d += 16)
        ldmatrix(held[p][d / 16], (query_rows ^ d % 64 * 2) + d / 64 * kQueries * 128 + p * 16 * 128);
  }
  copy_tile<Keys, kColumns, kThreads, Head::kIsExact>(
      key_tile, k, head_sizes.dim(), of_k.step(), begin, keys, threadIdx.x, packs);
  cp_async_commit();

#pragma unroll 1
  for (int start = begin; start < end; start += Keys) {
    cp_async_wait<0>();
    __syncthreads();  // the keys have arrived, and the last values were used
    copy_tile<Keys, kValueColumns, kThreads, Head::kIsExact>(
        value_tile, v, head_sizes.value_dim(), of_v.step(), start, keys, threadIdx.x, packs);
    if constexpr (Staged > 0) {
      if (of_block.kind == TileMask::kNumbers)
        copy_numbers<kQueries, Keys, kThreads>(number_tile, static_cast<const T*>(of_block.values) + start, keys,
                                               of_block.last_row + 1, keys - start, threadIdx.x,
                                               aligned(of_block.values) && keys % 8 == 0);
    }
    cp_async_commit();

#pragma unroll
    for (int p = 0; p < Parts; ++p)
#pragma unroll
      for (int i = 0; i < Keys / 2; ++i) scores[p][i] = 0.0f;
#pragma unroll
    for (int d = 0; d < kColumns; d += 16) {
      unsigned query[Parts][4];
#pragma unroll
      for (int p = 0; p < Parts; ++p) {
        if constexpr (kHoldsQueries) {
#pragma unroll
          for (int i = 0; i < 4; ++i) query[p][i] = held[p][d / 16][i];
        } else {
          ldmatrix(query[p], (query_rows ^ d % 64 * 2) + d / 64 * kQueries * 128 + p * 16 * 128);
        }
      }
#pragma unroll
      for (int n = 0; n < Keys; n += 16) {
        unsigned key[4];
        ldmatrix(key, (key_rows ^ d % 64 * 2) + d / 64 * Keys * 128 + n * 128);
#pragma unroll
        for (int p = 0; p < Parts; ++p) {
          mma_block<T>(scores[p] + n / 2, query[p], key[0], key[1]);
          mma_block<T>(scores[p] + n / 2 + 4, query[p], key[2], key[3]);
        }
      }
    }

    cp_async_wait<0>();
    __syncthreads();  // the values have arrived, and the keys were used
    if (start + Keys < end)
      copy_tile<Keys, kColumns, kThreads, Head::kIsExact>(
          key_tile, k, head_sizes.dim(), of_k.step(), start + Keys, keys, threadIdx.x, packs);
    cp_async_commit();

#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      const int row = warp_row + p * 16 + lane / 4;
      if constexpr (Staged > 0) {
        const int own = mask_rows == 1 ? 0 : warp_row + p * 16 + lane % 16;
        if (of_warp.kind == TileMask::kNumbers)
          scoring.template add_numbers<kQueries>(scores[p], number_tile + tile_offset<kQueries>(own, lane / 16));
      }
      scoring.apply(scores[p], {first + row, first + row + 8}, {of_warp.row(row), of_warp.row(row + 8)}, start,
                    start + lane % 4 * 2, start + Keys > scoring.seen(first + warp_row + p * 16),
                    Staged > 0 && of_warp.kind == TileMask::kNumbers);
      float rescale[2];
      if (softmax[p].online_softmax(scores[p], factor, rescale)) {
#pragma unroll
        for (int i = 0; i < kValueColumns / 2; ++i) result[p][i] *= rescale[i % 4 / 2];
      }
    }
#pragma unroll
    for (int n = 0; n < Keys; n += 16) {
      unsigned weights[Parts][4];
#pragma unroll
      for (int p = 0; p < Parts; ++p) pack_weights<T>(weights[p], scores[p] + n / 2);
#pragma unroll
      for (int d = 0; d < kValueColumns; d += 16) {
        unsigned value[4];
        ldmatrix_transposed(value, (value_rows ^ d % 64 * 2) + d / 64 * Keys * 128 + n * 128);
#pragma unroll
        for (int p = 0; p < Parts; ++p) {
          mma_block<T>(result[p] + d / 2, weights[p], value[0], value[1]);
          mma_block<T>(result[p] + d / 2 + 4, weights[p], value[2], value[3]);
        }
      }
    }
  }
  cp_async_wait<0>();

#pragma unroll
  for (int p = 0; p < Parts; ++p) {
    const int query = first + warp_row + p * 16 + lane / 4;
    add_sinks(of_scores, softmax[p], factor, head, lane);
    store_result(head_sizes, out, result[p], softmax[p], query, queries, place.step(), lane, stores_packs);
  }
}

template <class T, class Head, int Keys, int Warps, int Parts, int Resident, int Layout = kByHeads, int Staged = 0, class... Form>
__global__ void __launch_bounds__(32 * Warps, Resident) attention_sm80(ATTENTION_OPERANDS(T), Form... form) {
  const Head head_sizes(dim, value_dim);
  const QueryTile<16 * Parts * Warps> tile(queries, heads,
                                           heads_in_turns(causal || spans != nullptr, heads * batches, heads, kv_heads, keys,
                                                          head_sizes.dim() + head_sizes.value_dim()));
  attend<Keys, Warps, Parts, Layout, Staged>(
      head_sizes, q, k, v, mask, out, scale, KeyWindow(causal), heads, kv_heads, queries, keys, mask_rows, mask_is_bool, spans,
      mask_batches, mask_heads, tile.first, tile.head, tile.sequence, ScoreForm<T, Form...>{form...});
}

// The same of sequences behind each other: `packed_sequences.cuh`.
template <class T, class Head, int Keys, int Warps, int Parts, int Resident>
__global__ void __launch_bounds__(32 * Warps, Resident) packed_attention_sm80(PACKED_ATTENTION_OPERANDS(T)) {
  const Head head_sizes(dim, value_dim);
  const PackedTile<16 * Parts * Warps> tile(query_offsets, key_offsets, sequences, heads, queries, keys);
  if (tile.is_empty()) return;
  tile.move(q, k, v, out, heads, kv_heads, head_sizes.dim(), head_sizes.value_dim());
  attend<Keys, Warps, Parts, kByPosition, 0>(
      head_sizes, q, k, v, nullptr, out, scale, KeyWindow(left, right, tile.queries, tile.keys), heads, kv_heads, tile.queries,
      tile.keys, 1, false, nullptr, 1, 1, tile.first, tile.head, 0, ScoreForm<T>{});
}

}  // namespace cuda_kernels
