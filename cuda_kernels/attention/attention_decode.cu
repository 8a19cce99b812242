// Attention of few queries with a long cache of keys and values (flash-decoding), for f16 and bf16, accumulated in f32:
// a decoding step of a language model. Queries [batch, heads, queries, dim], keys [batch, kv_heads, keys, dim], and values
// [batch, kv_heads, keys, value_dim], of the sizes that Head takes (head_sizes.cuh);
// the queries of all heads that share a head of keys and values (GQA), at most 16 together, are the rows of one tile.
//
// All the time goes into reading the keys and the values, once each. So this is split-KV: the keys of a head are divided
// among the blocks of a cluster and again among their warps, 16 at a time, and every warp has Stages - 1 times 16 keys and
// values in flight (cp.async) while it works on others. Warps do not synchronise until their keys are done: each has
// stages of its own, its 16 rows of scores, its online softmax and its partial result, on the tensor cores as in
// `attention_sm80.cu`.
//
// Then the partial results are combined: those of the warps in the block's shared memory, and those of a cluster's blocks
// through distributed shared memory, where every block finishes its share of the result. So there is no combine kernel,
// and no partial result goes through global memory. Before sm_90 there are no clusters, and one block has all keys of a
// head.
//
// Memory traffic: 2 (dim + value_dim) bytes for each key and KV head; on top of that come the latency of the first copies and of the
// last step.

#include "../include/attention_placement.cuh"
#include "../include/attention_tiles.cuh"

namespace cuda_kernels {

constexpr int kRows = 16;  // of an MMA tile, and keys of a step

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CUDA_KERNELS_CLUSTER(SIZE) __cluster_dims__(SIZE, 1, 1)
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// Distributed shared memory: what another block of the cluster has at the same offset.
__device__ __forceinline__ float load_dsmem(const float* place, int block) {
  float value;
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %1, %2;\nld.shared::cluster.f32 %0, [remote];\n}"
      : "=f"(value)
      : "r"(shared_address(place)), "r"(block)
      : "memory");
  return value;
}
#else
#define CUDA_KERNELS_CLUSTER(SIZE)
__device__ __forceinline__ void cluster_sync() {}
__device__ __forceinline__ float load_dsmem(const float* place, int) { return *place; }
#endif

// A warp's partial result: weighted sums of values [16, Columns], and for each row the maximum, as a power of two, and the sum
// of weights (the log-sum-exp in two parts).
template <int Columns>
struct PartialResult {
  float sums[kRows * Columns];
  float maxima[kRows], weights[kRows];
};

// Combines one element of `Count` partial results: its sum and the sum of its weights. `read(number, place)` reads from
// partial result `number` what is at `place` in partial result 0.
template <int Count, int Columns, class Read>
__device__ __forceinline__ void combine(
    const PartialResult<Columns>& partial, int element, Read read, float& maximum, float& sum, float& weight) {
  const int row = element / Columns;
  float maxima[Count];
  maximum = -INFINITY;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    maxima[i] = read(i, partial.maxima + row);
    maximum = fmaxf(maximum, maxima[i]);
  }
  sum = weight = 0.0f;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    const float share = power_of_two(maxima[i] - (maximum == -INFINITY ? 0.0f : maximum));
    weight += share * read(i, partial.weights + row);
    sum += share * read(i, partial.sums + element);
  }
}

template <class T, class Head, int Warps, int Stages, int Splits, int Layout, class Form>
__device__ __forceinline__ void decode(const Head& head_sizes,
                                       const T* __restrict__ q,
                                       const T* __restrict__ k,
                                       const T* __restrict__ v,
                                       T* __restrict__ out,
                                       const Scoring<T, Form>& scoring,
                                       const Span& span,
                                       int rows_of_mask,
                                       int heads,
                                       int kv_heads,
                                       int queries,
                                       int cache) {
  constexpr int kColumns = Head::kColumns, kValueColumns = Head::kValueColumns;
  constexpr int kKeyTile = kTileBytes<kRows, kColumns>, kStage = kKeyTile + kTileBytes<kRows, kValueColumns>;
  using Partial = PartialResult<kValueColumns>;
  static_assert(sizeof(Partial) <= Stages * kStage, "a warp's partial result reuses its stages");
  extern __shared__ __align__(128) char shared[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, split = blockIdx.x;
  const int kv_head = blockIdx.y, batch = blockIdx.z;
  const int group = heads / kv_heads, rows = group * queries;
  const bool packs = aligned(q, k, v) & are_packs<T>(head_sizes);
  // This block's rows are the queries of one head after another; by position there is one query.
  const Placement<kPlacesOperands<Layout>> of_q{heads, queries, head_sizes.dim()}, of_k{kv_heads, cache, head_sizes.dim()},
      of_v{kv_heads, cache, head_sizes.value_dim()};
  const Placement<kPlacesResults<Layout>> place{heads, queries, head_sizes.value_dim()};
  q += of_q.of(batch, kv_head * group, 0);
  out += place.of(batch, kv_head * group, 0);
  // Writes an element of a tile, whose rows may be longer than those of the result.
  auto store = [&](int element, float value) {
    const int row = element / kValueColumns, column = element % kValueColumns;
    if constexpr (kPlacesResults<Layout>) {
      if (Head::kIsExact || column < head_sizes.value_dim())
        out[place.of(0, row / queries, row % queries) + column] = static_cast<T>(value);
    } else if constexpr (Head::kIsExact) {
      out[element] = static_cast<T>(value);
    } else if (column < head_sizes.value_dim()) {
      out[row * head_sizes.value_dim() + column] = static_cast<T>(value);
    }
  };
  // Adds the share of the sink of an element's head.
  auto add_sink = [&](int element, float maximum, float& weight) {
    if constexpr (!Form::kIsUsual)
      weight += scoring.sink(kv_head * group + element / kValueColumns / queries, maximum);
  };
  k += of_k.of(batch, kv_head, 0);
  v += of_v.of(batch, kv_head, 0);

  const unsigned query_tile = shared_address(shared);
  char* const own = shared + kKeyTile + warp * Stages * kStage;
  const unsigned key_tile = shared_address(own), value_tile = key_tile + kKeyTile;
  constexpr int kCopying = Warps < 4 ? Warps : 4;  // warps
  if (warp < kCopying)
    copy_tile<kRows, kColumns, 32 * kCopying, Head::kIsExact>(
        query_tile, q, head_sizes.dim(), head_sizes.dim(), 0, rows, threadIdx.x, packs);
  cp_async_commit();

  const int seen = min(scoring.seen(queries - 1), span.end);  // of causal ones, the last query sees the most
  const int first_step = min(span.begin, seen) / kRows, end_step = (seen + kRows - 1) / kRows;
  const int steps_of_block = (end_step - first_step + Splits - 1) / Splits;
  const int last = min(end_step, first_step + (split + 1) * steps_of_block);
  int step = first_step + split * steps_of_block + warp;
  auto load = [&](int which, int stage) {
    if (which < last) {
      copy_tile<kRows, kColumns, 32, Head::kIsExact>(
          key_tile + stage * kStage, k, head_sizes.dim(), of_k.step(), which * kRows, seen, lane, packs);
      copy_tile<kRows, kValueColumns, 32, Head::kIsExact>(
          value_tile + stage * kStage, v, head_sizes.value_dim(), of_v.step(), which * kRows, seen, lane, packs);
    }
    cp_async_commit();
  };
#pragma unroll
  for (int stage = 0; stage < Stages - 1; ++stage) load(step + stage * Warps, stage);

  cp_async_wait<Stages - 1>();
  __syncthreads();
  unsigned query[kColumns / 16][4];
#pragma unroll
  for (int d = 0; d < kColumns; d += 16)
    ldmatrix(query[d / 16],
                  (query_tile + tile_offset<kRows>(lane % 16, lane / 16) ^ d % 64 * 2) + d / 64 * kRows * 128);

  const unsigned key_rows = tile_offset<kRows>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
  const unsigned value_rows = tile_offset<kRows>(lane % 16, lane / 16);
  const int numbers[2] = {lane / 4 % queries, (lane / 4 + 8) % queries};  // of the queries in this thread's rows
  // The rows of the mask that these have: those of one head are behind those of another.
  const int mask_rows[2] = {min(lane / 4 / queries, group - 1) * rows_of_mask + scoring.mask.row(numbers[0]),
                            min((lane / 4 + 8) / queries, group - 1) * rows_of_mask + scoring.mask.row(numbers[1])};
  const int seen_by_all = scoring.seen(0);
  const float factor = scoring.factor();
  Softmax softmax;
  float result[kValueColumns / 2];
#pragma unroll
  for (int i = 0; i < kValueColumns / 2; ++i) result[i] = 0.0f;

  int stage = 0;
  for (; step < last; step += Warps) {
    cp_async_wait<Stages - 2>();
    __syncwarp();  // the copies of all lanes have arrived, and the next stage is no longer read
    load(step + (Stages - 1) * Warps, stage == 0 ? Stages - 1 : stage - 1);
    const unsigned keys_here = key_tile + stage * kStage + key_rows;
    const unsigned values_here = value_tile + stage * kStage + value_rows;

    float scores[8] = {};
#pragma unroll
    for (int d = 0; d < kColumns; d += 16) {
      unsigned key[4];
      ldmatrix(key, (keys_here ^ d % 64 * 2) + d / 64 * kRows * 128);
      mma_block<T>(scores, query[d / 16], key[0], key[1]);
      mma_block<T>(scores + 4, query[d / 16], key[2], key[3]);
    }
    scoring.apply(scores, numbers, mask_rows, step * kRows, step * kRows + lane % 4 * 2,
                  (step + 1) * kRows > seen_by_all);
    float rescale[2];
    if (softmax.online_softmax(scores, factor, rescale)) {
#pragma unroll
      for (int i = 0; i < kValueColumns / 2; ++i) result[i] *= rescale[i % 4 / 2];
    }
    unsigned weights[4];
    pack_weights<T>(weights, scores);
#pragma unroll
    for (int d = 0; d < kValueColumns; d += 16) {
      unsigned value[4];
      ldmatrix_transposed(value, (values_here ^ d % 64 * 2) + d / 64 * kRows * 128);
      mma_block<T>(result + d / 2, weights, value[0], value[1]);
      mma_block<T>(result + d / 2 + 4, weights, value[2], value[3]);
    }
    stage = stage == Stages - 1 ? 0 : stage + 1;
  }
  cp_async_wait<0>();
  __syncwarp();

  Partial& partial = *reinterpret_cast<Partial*>(own);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + 8 * half;
    const float weight = softmax.total(half);
    if (lane % 4 == 0) {
      partial.maxima[row] = softmax.maxima[half] * factor;
      partial.weights[row] = weight;
    }
#pragma unroll
    for (int i = 2 * half; i < kValueColumns / 2; i += 4) {
      partial.sums[row * kValueColumns + i / 4 * 8 + lane % 4 * 2] = result[i];
      partial.sums[row * kValueColumns + i / 4 * 8 + lane % 4 * 2 + 1] = result[i + 1];
    }
  }
  __syncthreads();

  Partial& first = *reinterpret_cast<Partial*>(shared + kKeyTile);
  __shared__ float maxima[kRows], totals[kRows];  // of the block
  float maximum, sum, weight;
  auto of_warp = [](int number, const float* place) {
    return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(place) + number * Stages * kStage);
  };
  if constexpr (Splits == 1) {
    for (int element = threadIdx.x; element < rows * kValueColumns; element += 32 * Warps) {
      combine<Warps>(first, element, of_warp, maximum, sum, weight);
      add_sink(element, maximum, weight);
      store(element, weight == 0.0f ? 0.0f : sum / weight);
    }
  } else {
    for (int element = threadIdx.x; element < rows * kValueColumns; element += 32 * Warps) {
      combine<Warps>(first, element, of_warp, maximum, sum, weight);
      first.sums[element] = sum;  // no other thread reads this element
      if (element % kValueColumns == 0) {
        maxima[element / kValueColumns] = maximum;
        totals[element / kValueColumns] = weight;
      }
    }
    __syncthreads();
    if (threadIdx.x < rows) {
      first.maxima[threadIdx.x] = maxima[threadIdx.x];
      first.weights[threadIdx.x] = totals[threadIdx.x];
    }
    cluster_sync();
    auto of_split = [](int number, const float* place) { return load_dsmem(place, number); };
    for (int element = split * 32 * Warps + threadIdx.x; element < rows * kValueColumns; element += Splits * 32 * Warps) {
      combine<Splits>(first, element, of_split, maximum, sum, weight);
      add_sink(element, maximum, weight);
      store(element, weight == 0.0f ? 0.0f : sum / weight);
    }
    cluster_sync();  // a block must not exit while others read its shared memory
  }
}

// The operands and the rules of `attention_sm80.cu`.
template <class T, class Head, int Warps, int Stages, int Splits, int Layout = kByHeads, class... Form>
__global__ void __launch_bounds__(32 * Warps) CUDA_KERNELS_CLUSTER(Splits)
    attention_decode(const T* __restrict__ q,
                     const T* __restrict__ k,
                     const T* __restrict__ v,
                     const void* __restrict__ mask,
                     T* __restrict__ out,
                     float scale,
                     bool causal,
                     int batches,
                     int heads,
                     int kv_heads,
                     int queries,
                     int keys,
                     int mask_rows,
                     bool mask_is_bool,
                     int dim,
                     int value_dim,
                     const int* __restrict__ spans,
                     int mask_batches,
                     int mask_heads,
                     Form... form) {
  const int group = heads / kv_heads, masks = mask_heads == 1 ? 1 : group;  // masks of a head of keys
  const HeadMask of_head(mask, spans, mask_is_bool, sizeof(T), mask_batches, mask_heads, mask_rows, keys,
                         static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y) * group);
  const Span span = of_head.span_of_heads(masks);
  const TileMask of_tile = of_head.of_tile(0, span);
  const Scoring<T, ScoreForm<T, Form...>> scoring{{form...}, of_tile, causal, scale};
  decode<T, Head, Warps, Stages, Splits, Layout>(
      Head(dim, value_dim), q, k, v, out, scoring, span, masks == 1 ? 0 : mask_rows, heads, kv_heads, queries, keys);
}

// With a KV cache that has `lengths[sequence]` keys. The queries are the last of these: query i sees the keys
// before `length - queries + 1 + i`.
template <class T, class Head, int Warps, int Stages, int Splits>
__global__ void __launch_bounds__(32 * Warps) CUDA_KERNELS_CLUSTER(Splits)
    cached_attention(const T* __restrict__ q,
                     const T* __restrict__ k,
                     const T* __restrict__ v,
                     const int* __restrict__ lengths,
                     T* __restrict__ out,
                     float scale,
                     int heads,
                     int kv_heads,
                     int queries,
                     int cache,
                     int dim,
                     int value_dim) {
  const int length = max(0, min(lengths[blockIdx.z], cache));
  const TileMask none{nullptr, TileMask::kNone, 0, length, 0, 0};
  const Scoring<T> scoring{{}, none, true, scale, length - queries};
  decode<T, Head, Warps, Stages, Splits, false>(
      Head(dim, value_dim), q, k, v, out, scoring, Span::of_all(length), 0, heads, kv_heads, queries, cache);
}

}  // namespace cuda_kernels
