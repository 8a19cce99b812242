// Attention of few queries with a cache of latent vectors (DeepSeek's multi-head latent attention, with the projections of keys
// and values absorbed by those of queries and results), for f16 and bf16, accumulated in f32: all heads share one key of 576
// numbers for each position, of which the first 512 are its value. Queries [batch, heads, queries, 576], the cache [batch, keys,
// 576] or in pages [pages, page_size, 576], results [batch, heads, queries, 512]. The queries are the last of a sequence's keys.
//
// As in `attention_decode.cu`, the queries of all heads are rows of tiles, and the steps of all tiles are shared out evenly; who
// of a tile's workers is the last combines their partial results. A block keeps a tile of queries, of 16 rows for each of
// `Groups`, and stages of keys in shared memory, each loaded once for scores and values (cp.async). A result of 512 columns has
// no room in a warp's registers: `Parts` warps share 16 rows. Each computes the scores of 16 keys of a step and tells the
// others their maxima and then its weights, packed as an operand of the tensor cores, through shared memory; and each has its
// part of the columns of the result.
//
// Memory traffic: 1152 bytes for each key and tile of rows, of which tiles but the first hit the L2 cache; and two partial results
// for each worker, at most.

#include "../include/attention_tiles.cuh"
#include "../include/decode_problem.cuh"

namespace cuda_kernels {

struct Latent {
  static constexpr bool kIsExact = true;
  static constexpr int kColumns = 576, kValueColumns = 512;

  __device__ __forceinline__ static constexpr int dim() { return kColumns; }
  __device__ __forceinline__ static constexpr int value_dim() { return kValueColumns; }
};

// Copies rows of 576 numbers, which `place` finds, to a tile; behind `count` of them are zeros. (A generic lambda in the kernel
// would do, but NVRTC 13.0 takes it for a function of the host.)
template <int Rows, int Threads, class T, class Place>
__device__ __forceinline__ void copy_latent(unsigned tile, const T* operand, int count, bool packs, Place place) {
  constexpr int kUnits = Latent::kColumns / 8;
#pragma unroll 4
  for (int i = threadIdx.x; i < Rows * kUnits; i += Threads) {
    const int row = i / kUnits, unit = i % kUnits;
    const unsigned to = tile + tile_offset<Rows>(row, unit);
    const T* const from = row < count ? place(row) + unit * 8 : operand;
    if (packs) {
      cp_async(to, from, row < count ? 16 : 0);
      continue;
    }
    unsigned words[4] = {};
#pragma unroll
    for (int e = 0; e < 8; ++e)
      if (row < count) words[e / 2] |= static_cast<unsigned>(reinterpret_cast<const unsigned short*>(from)[e]) << e % 2 * 16;
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3])
                 : "memory");
  }
}

template <class T, int Groups, int Parts, int Stages, int Cluster, class Cache>
__device__ __forceinline__ void decode_latent(
    const T* __restrict__ q, const T* __restrict__ k, T* __restrict__ out, float* scratch, const Problem<T, Cache>& problem,
    int batches) {
  constexpr int kColumns = Latent::kColumns, kValueColumns = Latent::kValueColumns;
  constexpr int kRows = 16 * Groups, kKeys = 16 * Parts, kThreads = 32 * Groups * Parts;
  constexpr int kStage = kTileBytes<kKeys, kColumns>;
  constexpr int kOwnColumns = kValueColumns / Parts, kFours = kValueColumns / 4;
  constexpr int least = 384 / kKeys;  // steps of a block that are worth another worker of a tile
  static_assert(Cluster == 1 || kRows * kValueColumns * 4 <= Stages * kStage, "a partial result reuses stages");
  __shared__ RowSums<kRows> row_sums;
  __shared__ float highest[Parts][kRows], sums[Parts][kRows];
  __shared__ uint4 all_weights[Groups][Parts][32];
  __shared__ int is_last;
  extern __shared__ __align__(1024) char shared[];
  char* const areas = shared + kTileBytes<kRows, kColumns>;  // of stages; in a cluster then of a partial result
  const unsigned query_tile = shared_address(shared), stages = shared_address(areas);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = warp / Parts, own = warp % Parts;
  const int rows = problem.heads * problem.queries, tiles = (rows + kRows - 1) / kRows;
  const int rank = Cluster == 1 ? 0 : blockIdx.x % Cluster, worker = blockIdx.x / Cluster;
  const bool packs = aligned(q, k), packs_results = reinterpret_cast<unsigned long long>(out) % 8 == 0;
  const Work<kKeys> work(problem.lengths, problem.reach(kKeys), batches, tiles, gridDim.x / Cluster, Cluster, least);
  if (worker >= work.workers) return;
  const Arrivals<Cluster> arrivals{scratch, work.workers};
  const WorkersResults<kRows, kValueColumns> of_workers{scratch + Arrivals<Cluster>::kFloats * Cluster * work.workers};
  auto group_sync = [&] { asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(32 * Parts) : "memory"); };
  using Part = TilePart<T, Cache>;
  Piece piece = work.first_piece(worker);
#pragma unroll 1
  for (; piece.begin < piece.end; work.next(piece)) {
    const Part part = Part::template of<kRows, kKeys>(problem, piece, tiles);
    const Scoring<T> scoring{{}, part.of_tile, true, problem.scale, part.before(problem)};
    const float factor = scoring.factor();
    copy_latent<kRows, kThreads>(query_tile, q, part.rows, packs, [&](int row) {
      return q + (static_cast<long long>(part.batch) * rows + part.first_row + row) * kColumns;
    });
    cp_async_commit();
    auto load = [&](int step, int stage) {
      if (step < part.end) {
        const int first = step * kKeys;
        copy_latent<kKeys, kThreads>(stages + stage * kStage, q, part.seen - first, packs, [&](int row) {
          if constexpr (Cache::kHasPages) {
            const Cache& caches = problem.caches;
            const int number = (first + row) / caches.page_size;
            const int found = caches.table[part.batch * static_cast<long long>(caches.table_width) + number];
            const int page = max(0, min(found, caches.pages - 1));  // the nearest one
            return k + (static_cast<long long>(page) * caches.page_size + (first + row - number * caches.page_size)) * kColumns;
          } else {
            return k + (static_cast<long long>(part.batch) * problem.cache + first + row) * kColumns;
          }
        });
      }
      cp_async_commit();
    };
    int step = part.begin + rank;
#pragma unroll
    for (int stage = 0; stage < Stages - 1; ++stage) load(step + stage * Cluster, stage);

    int numbers[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      numbers[half] = min(part.first_row + group * 16 + lane / 4 + 8 * half, rows - 1) % problem.queries;
    const unsigned query_rows = query_tile + tile_offset<kRows>(group * 16 + lane % 16, lane / 16);
    Softmax softmax;
    float result[kOwnColumns / 2];
#pragma unroll
    for (int i = 0; i < kOwnColumns / 2; ++i) result[i] = 0.0f;

    int stage = 0;
#pragma unroll 1
    for (; step < part.end; step += Cluster) {
      cp_async_wait<Stages - 2>();
      __syncthreads();  // the copies of all threads have arrived, and the next stage is no longer read
      load(step + (Stages - 1) * Cluster, stage == 0 ? Stages - 1 : stage - 1);
      const unsigned tile = stages + stage * kStage;
      float scores[8] = {};
#pragma unroll 6
      for (int d = 0; d < kColumns; d += 16) {
        unsigned query[4], pair[4];
        ldmatrix(query, (query_rows ^ d % 64 * 2) + d / 64 * kRows * 128);
        ldmatrix(pair, (tile + tile_offset<kKeys>(own * 16 + lane / 16 * 8 + lane % 8, lane / 8 % 2) ^ d % 64 * 2) +
                           d / 64 * kKeys * 128);
        mma_block<T>(scores, query, pair[0], pair[1]);
        mma_block<T>(scores + 4, query, pair[2], pair[3]);
      }
      const int start = step * kKeys + own * 16;
      scoring.apply(scores, numbers, numbers, start, start + lane % 4 * 2, start + 16 > part.seen_by_all);
      part.hide_before(problem, scores, numbers, start, start + lane % 4 * 2);
      float rescale[2];
      const bool grows = softmax.online_softmax(scores, factor, rescale, [&](float (&maxima)[2]) {
        if (lane % 4 < 2) highest[own][group * 16 + lane / 4 + lane % 4 * 8] = lane % 4 == 0 ? maxima[0] : maxima[1];
        group_sync();
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int i = 0; i < Parts; ++i) maxima[half] = fmaxf(maxima[half], highest[i][group * 16 + lane / 4 + half * 8]);
      });
      unsigned weights[4];
      pack_weights<T>(weights, scores);
      all_weights[group][own][lane] = make_uint4(weights[0], weights[1], weights[2], weights[3]);
      if (grows) {
#pragma unroll
        for (int i = 0; i < kOwnColumns / 2; ++i) result[i] *= rescale[i % 4 / 2];
      }
      group_sync();
#pragma unroll
      for (int i = 0; i < Parts; ++i) {
        const uint4 words = all_weights[group][i][lane];
        const unsigned of_keys[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
        for (int column = 0; column < kOwnColumns; column += 16) {
          unsigned value[4];
          const int from = own * kOwnColumns + column;
          ldmatrix_transposed(value, (tile + tile_offset<kKeys>(i * 16 + lane % 16, lane / 16) ^ column % 64 * 2) +
                                         from / 64 * kKeys * 128);
          mma_block<T>(result + column / 2, of_keys, value[0], value[1]);
          mma_block<T>(result + column / 2 + 4, of_keys, value[2], value[3]);
        }
      }
      stage = stage == Stages - 1 ? 0 : stage + 1;
    }
    cp_async_wait<0>();

    // The sums of weights of all keys.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float total = softmax.total(half);
      if (lane % 4 == 0) sums[own][group * 16 + lane / 4 + 8 * half] = total;
    }
    __syncthreads();  // nor are the stages read any more
    float* const of_worker = of_workers.of(worker, piece.slot());
    float* const to = Cluster == 1 ? of_worker : reinterpret_cast<float*>(areas);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = group * 16 + lane / 4 + 8 * half;
      if (lane % 4 == 0 && own == 0) {
        float total = 0.0f;
#pragma unroll
        for (int i = 0; i < Parts; ++i) total += sums[i][row];
        row_sums.maxima[row] = softmax.maxima[half] * factor;
        row_sums.weights[row] = total;
      }
    }
    const PartResults<T, Latent, kByHeads, Part, Problem<T, Cache>> results{problem, part, Latent(), out, packs_results};
    // This block's rows of the worker's result.
    const int share = (part.rows + Cluster - 1) / Cluster;
    const int begin_row = min(rank * share, part.rows), end_row = min(begin_row + share, part.rows);
    if (Cluster == 1) __syncthreads();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = group * 16 + lane / 4 + 8 * half;
      if (row >= part.rows) continue;
      const float factor_of_row =
          Cluster == 1 && piece.is_whole() ? results.share(row, row_sums.maxima[row], row_sums.weights[row]) : 1.0f;
      T* const place = results.of(row);
#pragma unroll
      for (int i = 2 * half; i < kOwnColumns / 2; i += 4) {
        const int column = own * kOwnColumns + i / 4 * 8 + lane % 4 * 2;
        const float first = result[i] * factor_of_row, second = result[i + 1] * factor_of_row;
        if (Cluster > 1 || !piece.is_whole()) {
          *reinterpret_cast<float2*>(to + row * kValueColumns + column) = make_float2(first, second);
        } else if (packs_results) {
          *reinterpret_cast<unsigned*>(place + column) = packed_pair<T>(first, second);
        } else {
          place[column] = static_cast<T>(first);
          place[column + 1] = static_cast<T>(second);
        }
      }
      if (Cluster == 1 && !piece.is_whole() && own == 0 && lane % 4 == 0) {
        of_worker[kRows * kValueColumns + row] = row_sums.maxima[row];
        of_worker[kRows * kValueColumns + kRows + row] = row_sums.weights[row];
      }
    }
    if constexpr (Cluster > 1) {
      cluster_sync();
      for (int i = begin_row * kFours + threadIdx.x; i < end_row * kFours; i += kThreads) {
        Four four;
#pragma unroll
        for (int block = 0; block < Cluster; ++block)
          four.add(load_dsmem(row_sums.maxima + i / kFours, block), load_dsmem(row_sums.weights + i / kFours, block),
                   load_dsmem_four(reinterpret_cast<const float4*>(areas) + i, block));
        if (piece.is_whole()) {
          results.store(i, four);
        } else {
          of_workers.write(of_worker, i, four);
        }
      }
    }
    if (!piece.is_whole()) {
      const int first = work.first_worker(piece), last = work.last_worker(piece);
      const int first_slot = work.first_slot(piece, first);
      if (arrivals.is_last(rank, worker, piece.slot(), first, first_slot, last, &is_last, threadIdx.x,
                           [] { __syncthreads(); })) {
        for (int i = begin_row * kFours + threadIdx.x; i < end_row * kFours; i += kThreads)
          results.store(i, of_workers.combined(first, first_slot, last, i));
      }
    }
    if constexpr (Cluster > 1) {
      cluster_sync();  // others read this block's shared memory
    } else {
      __syncthreads();
    }
  }
}

#define CUDA_KERNELS_LATENT __launch_bounds__(32 * Groups * Parts) CUDA_KERNELS_CLUSTER(Cluster)

template <class T, int Groups, int Parts, int Stages, int Cluster>
__global__ void CUDA_KERNELS_LATENT latent_attention(const T* __restrict__ q,
                                                     const T* __restrict__ cache,
                                                     const int* __restrict__ lengths,
                                                     T* __restrict__ out,
                                                     float scale,
                                                     int batches,
                                                     int heads,
                                                     int queries,
                                                     int keys,
                                                     float* scratch) {
  const Problem<T, Caches<T, false>> problem{nullptr, nullptr, lengths, 1,       1,    1,  false, true,
                                             scale,   heads,   1,       queries, keys, {}, {}};
  decode_latent<T, Groups, Parts, Stages, Cluster>(q, cache, out, scratch, problem, batches);
}

// The same with pages [pages, page_size, 576], of which sequence b has those whose numbers are in row b of `table`.
template <class T, int Groups, int Parts, int Stages, int Cluster>
__global__ void CUDA_KERNELS_LATENT paged_latent_attention(const T* __restrict__ q,
                                                           const T* __restrict__ cache,
                                                           const int* __restrict__ table,
                                                           const int* __restrict__ lengths,
                                                           T* __restrict__ out,
                                                           float scale,
                                                           int batches,
                                                           int heads,
                                                           int queries,
                                                           int pages,
                                                           int page_size,
                                                           int table_width,
                                                           float* scratch) {
  using Cache = Caches<T, true>;
  const Problem<T, Cache> problem{nullptr, nullptr, lengths, 1,       1,
                                  1,       false,   true,    scale,   heads,
                                  1,       queries, page_size * table_width, Cache{table, pages, page_size, table_width}, {}};
  decode_latent<T, Groups, Parts, Stages, Cluster>(q, cache, out, scratch, problem, batches);
}

}  // namespace cuda_kernels
