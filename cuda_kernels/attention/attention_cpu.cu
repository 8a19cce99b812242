// Attention forward as in attention.cu, for CPUs: the implementation for the target `cpu`. There a warp is one thread whose
// registers are vectors of 32 numbers, and shared memory is the part of its cache that a block works in; so both products
// are those of gemm_cpu.cu, with 32 keys at a time:
//   - Keys go to shared memory transposed, [dim, 32], values as they are, both as f32, once for all of a block's queries.
//   - Each warp has 8 queries. Lanes are keys for the scores, and columns of the result for the sums of values: vectors
//     of keys or values times numbers that all lanes share.
//   - In between the "online" softmax, one query after the other: a maximum over the lanes, and exponentials.
//
// Memory traffic: one read of each query and one write of each result; each block of 64 queries reads the keys and values
// of its head; all but the first hit the caches.

#include "../include/add_product.cuh"
#include "../include/attention_placement.cuh"
#include "../include/head_sizes.cuh"
#include "../include/mask_spans.cuh"
#include "../include/pack.cuh"
#include "../include/packed_sequences.cuh"
#include "../include/score_form.cuh"

namespace cuda_kernels {

constexpr int kWidth = 32, kWarps = 8, kRows = 8;  // lanes, which are keys or columns; of a block; queries of a warp
constexpr int kQueries = kWarps * kRows;

// What a block works in, as f32.
template <class Head>
struct Tiles {
  float queries[kQueries][Head::kColumns], keys[Head::kColumns][kWidth], values[kWidth][Head::kValueColumns];
  float weights[kQueries][kWidth];  // scores before
  float sums[kQueries][kWidth];     // of each lane's keys
  float maxima[kQueries], rescale[kQueries];
};

// Of queries from `first` on of a head of a sequence. The first `seen` of `keys` keys are valid.
template <class T, class Head, int Layout, class Form>
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
                                       int seen,
                                       int first,
                                       int head,
                                       int batch,
                                       const Form& form) {
  constexpr int pieces = Head::kValueColumns / kWidth;
  const int dim = head_sizes.dim(), value_dim = head_sizes.value_dim();
  extern __shared__ float4 shared[];
  Tiles<Head>& tiles = *reinterpret_cast<Tiles<Head>*>(shared);
  const int lane = threadIdx.x % kWidth, warp = threadIdx.x / kWidth, row = warp * kRows;
  const int rows = min(kQueries, queries - first), last_row = min(row + kRows, rows);
  const int key_head = static_cast<int>(static_cast<long long>(head) * kv_heads / heads);
  const Placement<kPlacesOperands<Layout>> of_q{heads, queries, dim}, of_k{kv_heads, keys, dim},
      of_v{kv_heads, keys, value_dim};
  const Placement<kPlacesResults<Layout>> place{heads, queries, value_dim};
  q += of_q.of(batch, head, first);
  k += of_k.of(batch, key_head, 0);
  v += of_v.of(batch, key_head, 0);
  out += place.of(batch, head, first);
  const HeadMask of_head(mask, spans, mask_is_bool, sizeof(T), mask_batches, mask_heads, mask_rows, keys, batch, head,
                         Form::kMayHide);
  const Span span = of_head.span(first, kQueries);
  const TileMask of_tile = of_head.of_tile(first, span);

#pragma unroll 1
  for (int i = row; i < last_row; ++i) {
#pragma unroll
    for (int d = lane; d < dim; d += kWidth) tiles.queries[i][d] = static_cast<float>(q[static_cast<long long>(i) * of_q.step() + d]) * scale;
    tiles.sums[i][lane] = 0.0f;
    tiles.maxima[i] = -INFINITY;
  }
  float result[kRows][pieces] = {};

  const int end = window.end_of(first, kQueries, min(seen, span.end));
#pragma unroll 1
  for (int start = min(window.begin_of(first, span.begin), end) / kWidth * kWidth; start < end; start += kWidth) {
    __syncthreads();  // the tiles were used
#pragma unroll 1
    for (int j = warp; j < kWidth; j += kWarps) {
      const bool is_there = start + j < seen;
      const T* const key = k + static_cast<long long>(start + j) * of_k.step();
      const T* const value = v + static_cast<long long>(start + j) * of_v.step();
#pragma unroll
      for (int d = lane; d < dim; d += kWidth) tiles.keys[d][j] = is_there ? static_cast<float>(key[d]) : 0.0f;
#pragma unroll
      for (int d = lane; d < Head::kValueColumns; d += kWidth)
        tiles.values[j][d] = is_there && d < value_dim ? static_cast<float>(value[d]) : 0.0f;
    }
    __syncthreads();
    if (row >= rows) continue;

    float scores[kRows] = {};
#pragma unroll 4
    for (int d = 0; d < dim; ++d) {
      const float key = tiles.keys[d][lane];
#pragma unroll
      for (int i = 0; i < kRows; ++i) add_product(scores[i], tiles.queries[row + i][d], key);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) tiles.weights[row + i][lane] = scores[i];
    const bool hides = of_tile.hides(start, kWidth);

#pragma unroll 1
    for (int i = row; i < last_row; ++i) {  // a thread reads what it wrote
      const int key = start + lane, query = first + i;
      float score = tiles.weights[i][lane];
      if constexpr (!Form::kIsUsual) score = form.changed(score);
      if (of_tile.adds()) {
        score += of_tile.value<T>(of_tile.row(i), min(key, keys - 1));
      } else if (hides && !of_tile.shows(of_tile.row(i), min(key, keys - 1))) {
        score = -INFINITY;
      }
      score = key < seen && window.shows(query, key) ? score : -INFINITY;
      const float before = tiles.maxima[i];
      float maximum = fmaxf(before, score);
      for (int distance = kWidth / 2; distance > 0; distance /= 2)
        maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, distance));
      // While all scores are -inf, any finite number can replace their maximum.
      const float base = maximum == -INFINITY ? 0.0f : maximum, weight = __expf(score - base);
      const float rescale = __expf(before - base);
      tiles.weights[i][lane] = weight;
      tiles.sums[i][lane] = tiles.sums[i][lane] * rescale + weight;
      tiles.maxima[i] = maximum;
      tiles.rescale[i] = rescale;
    }
    __syncwarp();

#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int p = 0; p < pieces; ++p) result[i][p] *= tiles.rescale[row + i];
#pragma unroll 2
    for (int j = 0; j < kWidth; ++j)
#pragma unroll
      for (int p = 0; p < pieces; ++p) {
        const float value = tiles.values[j][p * kWidth + lane];
#pragma unroll
        for (int i = 0; i < kRows; ++i) add_product(result[i][p], tiles.weights[row + i][j], value);
      }
  }

  // Through memory, so that the code that follows is emitted once.
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int p = 0; p < pieces; ++p) tiles.queries[row + i][p * kWidth + lane] = result[i][p];
#pragma unroll 1
  for (int i = row; i < last_row; ++i) {
    float sum = tiles.sums[i][lane];
    for (int distance = kWidth / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if constexpr (!Form::kIsUsual) sum += form.sinks.natural_weight(head, tiles.maxima[i]);
    const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
    for (int d = lane; d < value_dim; d += kWidth) out[static_cast<long long>(i) * place.step() + d] = static_cast<T>(tiles.queries[i][d] * factor);
  }
}

template <class T, class Head, int Layout = kByHeads, class... Form>
__global__ void __launch_bounds__(kWidth * kWarps) attention_cpu(ATTENTION_OPERANDS(T), Form... form) {
  const QueryTile<kQueries> tile(queries, heads);
  attend<T, Head, Layout>(Head(dim, value_dim), q, k, v, mask, out, scale, KeyWindow(causal), heads, kv_heads, queries, keys,
                          mask_rows, mask_is_bool, spans, mask_batches, mask_heads, keys, tile.first, tile.head, tile.sequence,
                          ScoreForm<T, Form...>{form...});
}

// The same with the operands of `attention_decode` of attention_decode.cu.
template <class T, class Head, int Layout = kByHeads, class... Form>
__global__ void __launch_bounds__(kWidth * kWarps) attention_decode_cpu(ATTENTION_OPERANDS(T), float*, Form... form) {
  const QueryTile<kQueries> tile(queries, heads);
  attend<T, Head, Layout>(Head(dim, value_dim), q, k, v, mask, out, scale, KeyWindow(causal), heads, kv_heads, queries, keys,
                          mask_rows, mask_is_bool, spans, mask_batches, mask_heads, keys, tile.first, tile.head, tile.sequence,
                          ScoreForm<T, Form...>{form...});
}

// As `cached_attention` of attention_decode.cu.
template <class T, class Head>
__global__ void __launch_bounds__(kWidth * kWarps) cached_attention_cpu(const T* __restrict__ q,
                                                                        const T* __restrict__ k,
                                                                        const T* __restrict__ v,
                                                                        const int* __restrict__ lengths,
                                                                        T* __restrict__ out,
                                                                        float scale,
                                                                        int batches,
                                                                        int heads,
                                                                        int kv_heads,
                                                                        int queries,
                                                                        int keys,
                                                                        int dim,
                                                                        int value_dim,
                                                                        float*,
                                                                        const int* __restrict__ window) {
  const QueryTile<kQueries> tile(queries, heads);
  const int seen = max(0, min(lengths[tile.sequence], keys));
  const int left = window == nullptr || *window <= 0 ? -1 : *window - 1;
  attend<T, Head, kByHeads>(Head(dim, value_dim), q, k, v, nullptr, out, scale, KeyWindow(left, 0, queries, seen), heads, kv_heads,
                            queries, keys, 1, false, nullptr, 1, 1, seen, tile.first, tile.head, tile.sequence, ScoreForm<T>{});
}

// As `packed_attention` of attention.cu.
template <class T, class Head>
__global__ void __launch_bounds__(kWidth * kWarps) packed_attention_cpu(PACKED_ATTENTION_OPERANDS(T)) {
  const PackedTile<kQueries> tile(query_offsets, key_offsets, sequences, heads, queries, keys);
  if (tile.is_empty()) return;
  tile.move(q, k, v, out, heads, kv_heads, dim, value_dim);
  attend<T, Head, kByPosition>(Head(dim, value_dim), q, k, v, nullptr, out, scale,
                               KeyWindow(left, right, tile.queries, tile.keys), heads, kv_heads, tile.queries, tile.keys, 1,
                               false, nullptr, 1, 1, tile.keys, tile.first, tile.head, 0, ScoreForm<T>{});
}

}  // namespace cuda_kernels
