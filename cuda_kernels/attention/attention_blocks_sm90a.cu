// Attention forward for Hopper (sm_90a) with small blocks, with the operands and the rules of `attention_sm80.cu`.
//
// A block is one warpgroup with 64 queries of one head, and goes over the keys tile by tile. There are no persistent blocks,
// no producer, no tensor maps and no barriers in memory: what takes time at the start of a block and at its end overlaps the
// work of the two or three other blocks of the multiprocessor, and the GPU gives each multiprocessor its next block when one
// is done. So it is ahead of `attention_sm90a.cu` where the work is little, and, since a softmax overlaps what other blocks
// have on the tensor cores, for small heads also where it is not.
//
// All threads load tiles (cp.async): of keys the next one, and of values this one, while the products of this tile of keys
// and of the last tile of values (wgmma) are in flight. So each has a whole tile's time to arrive, and two places. The weights
// go from the accumulators of one product to operand A of the other in registers.
//
// Memory traffic: each query is read and each result written once; keys and values are read once for every 64 queries,
// mostly from the L2 cache, which is what limits it for long sequences.
//
// With Staged = 1, each warp loads the numbers of a mask for its own queries (`number_rows.cuh`). The operands of Form are those
// of `../include/score_form.cuh`.

#include "../include/attention_placement.cuh"
#include "../include/attention_tiles.cuh"
#include "../include/number_rows.cuh"
#include "../include/packed_sequences.cuh"
#include "../include/wgmma_registers.cuh"

namespace cuda_kernels {

// What a block does: queries from `first` on of a head of a sequence.
template <int Keys, int Stages, bool HoldsQueries, int Layout, int Staged, class T, class Head, class Scores>
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
  static_assert(Keys % 32 == 0 || Stages == 1, "tiles begin at whole words of a mask's bits");
  constexpr int kQueries = 64, kColumns = Head::kColumns, kValueColumns = Head::kValueColumns;
  constexpr int kKeyTile = kTileBytes<Keys, kColumns>, kValueTile = kTileBytes<Keys, kValueColumns>;
  extern __shared__ __align__(1024) char shared[];
  char* const query_tile = shared;
  char* const key_tiles = query_tile + kTileBytes<kQueries, kColumns>;
  char* const value_tiles = key_tiles + Stages * kKeyTile;
  char* const number_places = value_tiles + Stages * kValueTile;
  // In shared memory, where it takes no registers.
  TileMask& of_rows = *reinterpret_cast<TileMask*>(number_places + Staged * 4 * kNumbersOfWarp<Keys>);
  static_assert(sizeof(TileMask) <= 64, "the memory that a launch has for it");

  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;
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
  const HeadMask of_head(mask, spans, mask_is_bool, sizeof(T), mask_batches, mask_heads, mask_rows, keys, batch, head,
                         Scores::kMayHide);
  const Span span = of_head.span(first, kQueries);
  const int end = window.end_of(first, kQueries, span.end);
  const int begin = min(window.begin_of(first, span.begin), end) / Keys * Keys;
  const int seen_by_all = window.end_of(first, 1, keys);
  if (threadIdx.x == 0) of_rows = of_head.of_tile(first, span);
  const bool adds_numbers = Staged > 0 && of_head.adds_numbers(span);
  const NumbersOfWarp<T, Keys> numbers(mask, mask_batches * static_cast<long long>(mask_heads) * mask_rows, of_head,
                                    first + warp_row,
                                    shared_address(number_places + threadIdx.x / 32 * kNumbersOfWarp<Keys>));

  auto load_keys = [&](int start, int stage) {
    copy_tile<Keys, kColumns, 128, Head::kIsExact>(shared_address(key_tiles + stage * kKeyTile), k, head_sizes.dim(),
                                                   of_k.step(), start, keys, threadIdx.x, packs);
  };
  auto load_values = [&](int start, int stage) {
    copy_tile<Keys, kValueColumns, 128, Head::kIsExact>(shared_address(value_tiles + stage * kValueTile), v,
                                                        head_sizes.value_dim(), of_v.step(), start, keys, threadIdx.x, packs);
  };
  // After the copies of this thread that wgmma reads have arrived.
  auto publish_tiles = []() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
  };

  const Scoring<T, Scores> scoring{of_scores, of_rows, window.ends, scale, window.behind, window.begins, window.before};
  Softmax softmax;
  float result[kValueColumns / 2], scores[Keys / 2], rescale[2];
  unsigned weights[Keys / 16][4], held[HoldsQueries ? kColumns / 16 : 1][4];
#pragma unroll
  for (int i = 0; i < kValueColumns / 2; ++i) result[i] = 0.0f;

  auto gemm_qk = [&](int stage) {
    const unsigned long long keys_of_tile = descriptor_k_major(key_tiles + stage * kKeyTile);
    const unsigned long long own = descriptor_k_major(query_tile);
#pragma unroll
    for (int d = 0; d < kColumns; d += 16) {
      const unsigned long long columns = keys_of_tile + ((d / 64 * (Keys * 128) + d % 64 * 2) >> 4);
      if constexpr (HoldsQueries) {
        wgmma_from_registers<T, Keys, 0>(scores, held[d / 16], columns, d > 0);
      } else {
        wgmma<T, Keys, 0, 0>(scores, own + ((d / 64 * (kQueries * 128) + d % 64 * 2) >> 4), columns, d > 0);
      }
    }
    warpgroup_commit();
  };
  auto gemm_pv = [&](int stage) {
    const unsigned long long values_of_tile = descriptor_mn_major(value_tiles + stage * kValueTile, Keys * 128);
#pragma unroll
    for (int n = 0; n < Keys; n += 16)
      wgmma_from_registers<T, kValueColumns, 1>(result, weights[n / 16], values_of_tile + (n * 128 >> 4), 1);
    warpgroup_commit();
  };
  auto online_softmax = [&](int start) {
    if (adds_numbers) {
      numbers.add(scoring, scores, start, lane);
      __syncwarp();
      if (start + Keys < end) numbers.copy(start + Keys, lane);
      cp_async_commit();
    }
    const int row = warp_row + lane / 4, query = first + row;
    scoring.apply(scores, {query, query + 8}, {of_rows.row(row), of_rows.row(row + 8)}, start, start + lane % 4 * 2,
                  start + Keys > seen_by_all, adds_numbers);
    return softmax.online_softmax(scores, scoring.factor(), rescale);
  };
  auto pack = [&]() {
#pragma unroll
    for (int n = 0; n < Keys / 16; ++n) pack_weights<T>(weights[n], scores + 8 * n);
  };

  if (adds_numbers) numbers.copy(begin, lane);
  copy_tile<kQueries, kColumns, 128, Head::kIsExact>(
      shared_address(query_tile), q, head_sizes.dim(), of_q.step(), first, queries, threadIdx.x, packs);
  load_keys(begin, 0);
  cp_async_commit();
  load_values(begin, 0);
  cp_async_commit();
  cp_async_wait<1>();
  publish_tiles();
  if (begin < end) {
    if constexpr (HoldsQueries) {
      const unsigned rows = shared_address(query_tile) + tile_offset<kQueries>(warp_row + lane % 16, lane / 16);
#pragma unroll
      for (int d = 0; d < kColumns; d += 16) ldmatrix(held[d / 16], (rows ^ d % 64 * 2) + d / 64 * kQueries * 128);
    }
    if (Stages > 1 && begin + Keys < end) load_keys(begin + Keys, 1);
    cp_async_commit();
    warpgroup_arrive();
    gemm_qk(0);
    warpgroup_wait<0>();
    online_softmax(begin);
    pack();
    int stage = 0;  // of the values whose weights there are
#pragma unroll 1
    for (int start = begin + Keys; Stages > 1 && start < end; start += Keys) {
      cp_async_wait<0>();
      publish_tiles();
      if (start + Keys < end) load_keys(start + Keys, stage);
      load_values(start, stage ^ 1);
      cp_async_commit();
      warpgroup_arrive();
      gemm_qk(stage ^ 1);
      gemm_pv(stage);
      warpgroup_wait<1>();
      const bool grows = online_softmax(start);
      // Here, and not later, since otherwise the compiler waits for the second product before the softmax.
      asm volatile("" ::: "memory");
      warpgroup_wait<0>();
      if (grows) {
#pragma unroll
        for (int i = 0; i < kValueColumns / 2; ++i) result[i] *= rescale[i % 4 / 2];
      }
      pack();
      stage ^= 1;
    }
    cp_async_wait<0>();
    publish_tiles();
    warpgroup_arrive();
    gemm_pv(stage);
    warpgroup_wait<0>();
  }
  cp_async_wait<0>();
  add_sinks(of_scores, softmax, scoring.factor(), head, lane);
  store_result(head_sizes, out + place.of(batch, head, 0), result, softmax, first + warp_row + lane / 4, queries,
               place.step(), lane, stores_packs);
}

template <class T, class Head, int Keys, int Stages, int Resident, bool HoldsQueries, int Layout = kByHeads, int Staged = 0, class... Form>
__global__ void __launch_bounds__(128, Resident) attention_blocks(ATTENTION_OPERANDS(T), Form... form) {
  const Head head_sizes(dim, value_dim);
  const QueryTile<64> tile(queries, heads,
                           heads_in_turns(causal || spans != nullptr, heads * batches, heads, kv_heads, keys,
                                          head_sizes.dim() + head_sizes.value_dim()));
  attend<Keys, Stages, HoldsQueries, Layout, Staged>(
      head_sizes, q, k, v, mask, out, scale, KeyWindow(causal), heads, kv_heads, queries, keys, mask_rows, mask_is_bool, spans,
      mask_batches, mask_heads, tile.first, tile.head, tile.sequence, ScoreForm<T, Form...>{form...});
}

// The same of sequences behind each other: `packed_sequences.cuh`.
template <class T, class Head, int Keys, int Stages, int Resident, bool HoldsQueries>
__global__ void __launch_bounds__(128, Resident) packed_attention_blocks(PACKED_ATTENTION_OPERANDS(T)) {
  const Head head_sizes(dim, value_dim);
  const PackedTile<64> tile(query_offsets, key_offsets, sequences, heads, queries, keys);
  if (tile.is_empty()) return;
  tile.move(q, k, v, out, heads, kv_heads, head_sizes.dim(), head_sizes.value_dim());
  attend<Keys, Stages, HoldsQueries, kByPosition, 0>(
      head_sizes, q, k, v, nullptr, out, scale, KeyWindow(left, right, tile.queries, tile.keys), heads, kv_heads, tile.queries,
      tile.keys, 1, false, nullptr, 1, 1, tile.first, tile.head, 0, ScoreForm<T>{});
}

}  // namespace cuda_kernels
