// Attention forward: softmax(q k^T * scale + mask) v for queries [batch, heads, queries, dim], keys
// [batch, kv_heads, keys, dim] and values [batch, kv_heads, keys, value_dim], of the sizes that Head
// takes (head_sizes.cuh), for f32, f16 and bf16, in f32. Several heads share a head
// of keys and values where heads is a multiple of kv_heads. A causal query sees the keys up to its own
// index. The mask may be absent (null); floats are added, bools select visible keys. A query that sees no key gets zeros.
//
// FlashAttention on CUDA cores (SIMT). A block computes 64 queries of one head. It goes over the keys tile by tile and
// keeps, for every query, the maximum of the scores so far, the sum of their exponentials relative to it, and the sum of
// the values weighted with these; when a tile raises the maximum, both sums are rescaled ("online" softmax). The scores
// never leave the block.
//
// The tiles lie in shared memory as f32. Of the scores a thread computes 8 queries by Keys / 16 keys,
// of the result 8 queries by kValueColumns / 16 columns: the 16 threads of half a warp share their queries, so
// that a warp reads only two addresses of queries and weights at a time. Plain multiply-adds, no tensor
// cores: at least two of them for every four-byte access to shared memory.
//
// Memory traffic: one read of each query and one write of each result; every block reads the keys and
// values of its head; all but the first hit the caches.

#include "../include/attention_placement.cuh"
#include "../include/head_sizes.cuh"
#include "../include/mask_spans.cuh"
#include "../include/pack.cuh"
#include "../include/packed_sequences.cuh"
#include "../include/score_form.cuh"

namespace cuda_kernels {

constexpr int kAttentionThreads = 128, kTileQueries = 64;
constexpr int kLanes = 16;                                 // threads that share their queries
constexpr int kRows = kTileQueries / (kAttentionThreads / kLanes);  // queries of a thread
constexpr int kRowStep = kTileQueries / kRows;             // from one of them to the next

template <int Size>
struct alignas(4 * Size) Floats {
  float at[Size];
};

template <int Size>
__device__ __forceinline__ Floats<Size> floats(const float* from) {
  return *reinterpret_cast<const Floats<Size>*>(from);
}

// Rows `first` ... `first + Rows` of an operand [rows, columns], `stride` elements apart, into a tile of Columns columns in shared memory, times
// `factor`, with zeros past the end. Rows there are Stride elements apart, 16 bytes more than the widest tile, so that
// they begin in different banks. If IsExact, the operand has as many columns as the tile.
template <int Rows, int Columns, int Stride, bool IsExact, class T>
__device__ __forceinline__ void load_tile(
    float* tile, const T* __restrict__ operand, int columns, int stride, int first, int rows, float factor, bool packs) {
  constexpr int size = kPack<T>, units = Columns / size;
  static_assert(Rows * units % kAttentionThreads == 0, "every thread loads as many packs");
#pragma unroll (IsExact && Columns == 128 ? 32 : 4)
  for (int step = 0; step < Rows * units; step += kAttentionThreads) {
    const int unit = step + threadIdx.x, row = unit / units, column = unit % units * size;
    const T* from = operand + static_cast<long long>(first + row) * stride + column;
    float values[size];
    if (first + row >= rows || (!IsExact && column >= columns)) {
      for (int i = 0; i < size; ++i) values[i] = 0.0f;
    } else if (packs) {
      load_pack(from, values);
    } else {
      for (int i = 0; i < size; ++i)
        values[i] = IsExact || column + i < columns ? static_cast<float>(from[i]) : 0.0f;
    }
    for (int i = 0; i < size; i += 4) {
      const Floats<4> four = {values[i] * factor, values[i + 1] * factor, values[i + 2] * factor,
                              values[i + 3] * factor};
      *reinterpret_cast<Floats<4>*>(tile + row * Stride + column + i) = four;
    }
  }
}

// What a block does: queries from `first` on of a head of a sequence.
template <int Keys, int Layout, class T, class Head, class Scores>
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
  constexpr int kColumns = Head::kColumns, kValueColumns = Head::kValueColumns;
  constexpr int stride = kColumns + 4, score_stride = Keys + 4;
  constexpr int columns = Keys / kLanes;         // keys of a thread, kLanes apart
  constexpr int width = kValueColumns % 64 == 0 ? 4 : 2;    // neighbouring columns of the result
  constexpr int pieces = kValueColumns / (kLanes * width);  // how often a thread has so many
  extern __shared__ float4 shared[];
  float* const query_tile = reinterpret_cast<float*>(shared);
  float* const key_tile = query_tile + kTileQueries * stride;  // and the values, after the keys
  float* const weights = key_tile + Keys * stride;

  const int lane = threadIdx.x % kLanes, row = threadIdx.x / kLanes;
  const int key_head = static_cast<int>(static_cast<long long>(head) * kv_heads / heads);
  const bool packs = aligned(q, k, v) & are_packs<T>(head_sizes);
  const Placement<kPlacesOperands<Layout>> of_q{heads, queries, head_sizes.dim()}, of_k{kv_heads, keys, head_sizes.dim()},
      of_v{kv_heads, keys, head_sizes.value_dim()};
  const Placement<kPlacesResults<Layout>> place{heads, queries, head_sizes.value_dim()};
  q += of_q.of(batch, head, 0);
  k += of_k.of(batch, key_head, 0);
  v += of_v.of(batch, key_head, 0);
  out += place.of(batch, head, 0);
  const HeadMask of_head(mask, spans, mask_is_bool, sizeof(T), mask_batches, mask_heads, mask_rows, keys, batch, head,
                         Scores::kMayHide);
  const Span span = of_head.span(first, kTileQueries);
  __shared__ TileMask of_tile;  // where it takes no registers
  if (threadIdx.x == 0) of_tile = of_head.of_tile(first, span);

  load_tile<kTileQueries, kColumns, stride, Head::kIsExact>(
      query_tile, q, head_sizes.dim(), of_q.step(), first, queries, scale, packs);
  float maxima[kRows], sums[kRows];
  Floats<width> result[kRows][pieces];
  for (int i = 0; i < kRows; ++i) {
    maxima[i] = -INFINITY;
    sums[i] = 0.0f;
    for (int p = 0; p < pieces; ++p)
      for (int w = 0; w < width; ++w) result[i][p].at[w] = 0.0f;
  }

  const int end = window.end_of(first, kTileQueries, span.end);
  for (int start = min(window.begin_of(first, span.begin), end) / Keys * Keys; start < end; start += Keys) {
    __syncthreads();  // the tile's values were used
    load_tile<Keys, kColumns, stride, Head::kIsExact>(
        key_tile, k, head_sizes.dim(), of_k.step(), start, keys, 1.0f, packs);
    __syncthreads();

    float scores[kRows][columns] = {};
#pragma unroll (Head::kIsExact && kColumns == 128 ? 2 : 1)
    for (int d = 0; d < kColumns; d += 4) {
      Floats<4> key[columns];
      for (int j = 0; j < columns; ++j) key[j] = floats<4>(key_tile + (lane + j * kLanes) * stride + d);
      for (int i = 0; i < kRows; ++i) {
        const Floats<4> query = floats<4>(query_tile + (row + i * kRowStep) * stride + d);
        for (int j = 0; j < columns; ++j)
          for (int e = 0; e < 4; ++e) scores[i][j] += query.at[e] * key[j].at[e];
      }
    }

    const bool hides = of_tile.hides(start, Keys);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int query = first + row + i * kRowStep, mask_row = of_tile.row(row + i * kRowStep);
      float maximum = maxima[i];
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const int key = start + lane + j * kLanes;
        if constexpr (!Scores::kIsUsual) scores[i][j] = of_scores.changed(scores[i][j]);
        if (key >= keys || !window.shows(query, key) || (hides && !of_tile.shows(mask_row, key))) {
          scores[i][j] = -INFINITY;
        } else if (of_tile.adds()) {
          scores[i][j] += of_tile.value<T>(mask_row, key);
        }
        maximum = fmaxf(maximum, scores[i][j]);
      }
      for (int distance = kLanes / 2; distance > 0; distance /= 2)
        maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, distance));
      // While all scores are -inf, any finite number can replace their maximum.
      const float base = maximum == -INFINITY ? 0.0f : maximum;
      const float rescale = __expf(maxima[i] - base);
      maxima[i] = maximum;
      sums[i] *= rescale;
      for (int p = 0; p < pieces; ++p)
        for (int w = 0; w < width; ++w) result[i][p].at[w] *= rescale;
      for (int j = 0; j < columns; ++j) {
        const float weight = __expf(scores[i][j] - base);
        sums[i] += weight;
        weights[(row + i * kRowStep) * score_stride + lane + j * kLanes] = weight;
      }
    }

    __syncthreads();  // the keys were used
    load_tile<Keys, kValueColumns, stride, Head::kIsExact>(
        key_tile, v, head_sizes.value_dim(), of_v.step(), start, keys, 1.0f, packs);
    __syncthreads();

#pragma unroll 1
    for (int n = 0; n < Keys; n += 4) {
      Floats<width> value[4][pieces];
      for (int e = 0; e < 4; ++e)
        for (int p = 0; p < pieces; ++p)
          value[e][p] = floats<width>(key_tile + (n + e) * stride + (p * kLanes + lane) * width);
      for (int i = 0; i < kRows; ++i) {
        const Floats<4> weight = floats<4>(weights + (row + i * kRowStep) * score_stride + n);
        for (int e = 0; e < 4; ++e)
          for (int p = 0; p < pieces; ++p)
            for (int w = 0; w < width; ++w)
              result[i][p].at[w] += weight.at[e] * value[e][p].at[w];
      }
    }
  }

  for (int i = 0; i < kRows; ++i) {
    const int query = first + row + i * kRowStep;
    float sum = sums[i];  // of this thread's keys, so far
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (query >= queries) continue;
    if constexpr (!Scores::kIsUsual) sum += of_scores.sinks.natural_weight(head, maxima[i]);
    const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
    T* const to = out + static_cast<long long>(query) * place.step();
    for (int p = 0; p < pieces; ++p)
      for (int w = 0; w < width; ++w) {
        const int column = (p * kLanes + lane) * width + w;
        if (Head::kIsExact || column < head_sizes.value_dim()) to[column] = static_cast<T>(result[i][p].at[w] * factor);
      }
  }
}

template <class T, class Head, int Keys, int Layout = kByHeads, class... Form>
__global__ void __launch_bounds__(kAttentionThreads, 2) attention(ATTENTION_OPERANDS(T), Form... form) {
  const QueryTile<kTileQueries> tile(queries, heads);
  attend<Keys, Layout>(Head(dim, value_dim), q, k, v, mask, out, scale, KeyWindow(causal), heads, kv_heads, queries, keys,
                       mask_rows, mask_is_bool, spans, mask_batches, mask_heads, tile.first, tile.head, tile.sequence,
                       ScoreForm<T, Form...>{form...});
}

// The same of sequences behind each other: `packed_sequences.cuh`.
template <class T, class Head, int Keys>
__global__ void __launch_bounds__(kAttentionThreads, 2) packed_attention(PACKED_ATTENTION_OPERANDS(T)) {
  const PackedTile<kTileQueries> tile(query_offsets, key_offsets, sequences, heads, queries, keys);
  if (tile.is_empty()) return;
  tile.move(q, k, v, out, heads, kv_heads, dim, value_dim);
  attend<Keys, kByPosition>(Head(dim, value_dim), q, k, v, nullptr, out, scale, KeyWindow(left, right, tile.queries, tile.keys),
                            heads, kv_heads, tile.queries, tile.keys, 1, false, nullptr, 1, 1, tile.first, tile.head, 0,
                            ScoreForm<T>{});
}

}  // namespace cuda_kernels
