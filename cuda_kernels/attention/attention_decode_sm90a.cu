// Attention of few queries with a long cache on Hopper (sm_90a), for tiles of 64 or 128 rows: the operands, the rules and the
// shares of work of `attention_decode.cu`, which has tiles of 16 rows, caches of 8 bits, and older GPUs.
//
// A block has a consumer warpgroup for each 64 rows, and a producer warpgroup, which copies queries, keys and values to shared
// memory (cp.async: rows of a cache may be in pages, and TMA would need a map of each) and gives most of its registers to the
// consumers. Keys and values have Stages stages, each with two barriers: "full", on which all copies of the producer's threads
// arrive, and "empty", on which the consumers' warps release it. Of a consumer's two products, the next Q K^T and P V, both are
// in flight while its softmax of the next weights begins, as in `attention_sm90a.cu`. The producer goes on with the
// worker's next tile while the consumers finish one.
//
// A part of a tile is written from registers: its result, or where a tile has several workers a partial result in memory,
// which the last of them combines. In a cluster, blocks take the steps of a worker in turns, and each combines some rows of
// all through distributed shared memory.
//
// Memory traffic: as `attention_decode.cu`.

#include "../include/attention_tiles.cuh"
#include "../include/decode_problem.cuh"
#include "../include/wgmma_registers.cuh"

namespace cuda_kernels {

// Copies rows of `columns` numbers to a tile by a warpgroup, with few registers. Each thread copies the same 16 bytes of
// every `step`th row. Behind `rows` rows, and behind the columns, are zeros.
template <int Rows, int Columns, bool IsExact>
struct WarpgroupCopy {
  static constexpr int units = kNextPower<Columns / 8>, step = 128 / units;  // of a row, and rows of all at once
  static_assert(Rows % step == 0, "as many rows for every thread");
  const unsigned short* operand;
  int columns, rows, unit, first;
  unsigned to;
  bool packs;

  __device__ __forceinline__ WarpgroupCopy(
      unsigned tile, const unsigned short* of, int of_columns, int count, int thread, bool in_packs)
      : operand(of), columns(of_columns), rows(count), unit(thread % units), first(thread / units),
        to(tile + tile_offset<Rows>(first, unit)), packs(in_packs) {}

  // Row i behind the thread's first, which begins at `row`.
  __device__ __forceinline__ void put(int i, const unsigned short* row) const {
    const unsigned place = (to ^ i % 8 * 16) + i * 128;
    const bool is_unit = units == Columns / 8 || unit < Columns / 8;  // without a branch: no thread waits for others
    const int left = first + i >= rows ? 0 : IsExact ? 8 : columns - unit * 8;
    if (packs) {
      cp_async(place, left > 0 ? row + unit * 8 : operand, left > 0 ? 16 : 0, is_unit);
      return;
    }
    unsigned words[4] = {};
#pragma unroll
    for (int e = 0; e < 8; ++e)
      if (e < left) words[e / 2] |= static_cast<unsigned>(row[unit * 8 + e]) << e % 2 * 16;
    if (is_unit)
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                   "r"(words[3])
                   : "memory");
  }

  // Rows that are `stride` numbers apart, the first at `from`.
  __device__ __forceinline__ void strided(const unsigned short* from, int stride) const {
    const unsigned short* row = from + first * static_cast<long long>(stride);
    const long long next = step * static_cast<long long>(stride);
    if (packs) {
#pragma unroll 4
      for (int i = 0; i < Rows; i += step, row += next) put(i, row);
    } else {
#pragma unroll 1
      for (int i = 0; i < Rows; i += step, row += next) put(i, row);
    }
  }

  // Rows that lie anywhere, of which each lane finds one: `find(row)` is its number, from the operand on. A warp's rows are
  // 32 at most, and it copies each with the same lanes.
  template <class Find>
  __device__ __forceinline__ void found(int thread, Find find) const {
    constexpr int per_warp = 32 / units;
    static_assert(Rows / step * per_warp <= 32, "a lane for each row of a warp");
    const int lane = thread % 32, own = thread / 32 * per_warp + lane % per_warp + lane / per_warp * step;
    const long long of_lane = own < Rows ? find(own) * columns : 0;
#pragma unroll 2
    for (int i = 0; i < Rows; i += step) put(i, operand + __shfl_sync(~0u, of_lane, lane / units + i / step * per_warp));
  }

  // Rows of a cache: in pages those that `find` says; else from `key` on behind row `start`, `apart` rows from one to the next.
  // (Not a generic lambda where it is called: NVRTC 13.0 takes that one for a function of the host.)
  template <bool HasPages, class Find>
  __device__ __forceinline__ void of_cache(int thread, Find find, long long start, int key, int apart) const {
    if constexpr (HasPages) {
      found(thread, find);
    } else {
      const int stride = apart * columns;
      strided(operand + start * columns + key * static_cast<long long>(stride), stride);
    }
  }
};

template <class Head, int Consumers, int Keys, int Stages, bool HasPages>
struct DecodeTiles {
  static constexpr int kRows = 64 * Consumers;
  static constexpr int kQueryTile = kTileBytes<kRows, Head::kColumns>;
  static constexpr int kKeyTile = kTileBytes<Keys, Head::kColumns>, kValueTile = kTileBytes<Keys, Head::kValueColumns>;
  static constexpr int kStage = kKeyTile + kValueTile;
  // Two blocks on a multiprocessor where both have room.
  static constexpr int kResident = Consumers == 1 && kQueryTile + Stages * kStage <= 112 * 1024 ? 2 : 1;
  // No more for all than a block begins with, 168 for each of three warpgroups, or 128 or 240 for each of two.
  static constexpr int kProducerRegisters = Consumers == 2 ? (HasPages || !Head::kIsExact ? 72 : 56) : kResident == 2 ? 64 : 96;
  static constexpr int kConsumerRegisters = Consumers == 2 ? (HasPages || !Head::kIsExact ? 216 : 224) : kResident == 2 ? 192 : 248;
};

template <class T, class Head, int Consumers, int Keys, int Stages, int Cluster, int Layout, class Cache, class... Form>
__device__ __forceinline__ void decode(const Head& head_sizes,
                                       const T* __restrict__ q,
                                       const T* __restrict__ k,
                                       const T* __restrict__ v,
                                       T* __restrict__ out,
                                       float* scratch,
                                       const Problem<T, Cache, Form...>& problem,
                                       int batches) {
  using Tiles = DecodeTiles<Head, Consumers, Keys, Stages, Cache::kHasPages>;
  constexpr int least = 384 / Keys;  // steps of a block that are worth another worker of a tile
  constexpr int kColumns = Head::kColumns, kValueColumns = Head::kValueColumns, kRows = Tiles::kRows;
  constexpr int kThreads = 128 * Consumers;  // that compute
  constexpr int kFours = kValueColumns / 4;  // of a row of a partial result
  static_assert(Cluster == 1 || kRows * kValueColumns * 4 <= Stages * Tiles::kStage, "a partial result reuses stages");
  __shared__ RowSums<Cluster == 1 ? 1 : kRows> row_sums;
  __shared__ Barrier queries_full, queries_empty;
  __shared__ Barrier keys_full[Stages], keys_empty[Stages], values_full[Stages], values_empty[Stages];
  __shared__ TileMask mask;  // of a part: it leaves registers to others
  __shared__ int is_last;
  extern __shared__ __align__(1024) char shared[];
  char* const areas = shared + Tiles::kQueryTile;  // of stages; in a cluster then of partial results

  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0), lane = threadIdx.x % 32;
  const int queries = problem.queries, kv_heads = problem.kv_heads, group = problem.heads / kv_heads;
  const int tiles = (group * queries + kRows - 1) / kRows;
  const int rank = Cluster == 1 ? 0 : blockIdx.x % Cluster, worker = blockIdx.x / Cluster;
  const Work<Keys> work(problem.lengths, problem.reach(Keys), batches, kv_heads * tiles, gridDim.x / Cluster, Cluster, least);
  if (worker >= work.workers) return;
  if (threadIdx.x == 0) {
    initialise(&queries_full, 128);
    initialise(&queries_empty, 4 * Consumers);
    for (int i = 0; i < Stages; ++i) {
      initialise(keys_full + i, 128);
      initialise(values_full + i, 128);
      initialise(keys_empty + i, 4 * Consumers);
      initialise(values_empty + i, 4 * Consumers);
    }
    publish_barriers();
  }
  __syncthreads();

  Piece piece = work.first_piece(worker);
  PipelineState<Stages> state;
  unsigned query_phase = 0;
  using Part = TilePart<T, Cache, Form...>;
  if (warpgroup == 0) {
    deallocate_registers<Tiles::kProducerRegisters>();
    const bool packs = aligned(q, k, v) & are_packs<T>(head_sizes);
    const int thread = threadIdx.x, dim = head_sizes.dim(), value_dim = head_sizes.value_dim();
    const int rows_of_caches = Cache::kHasPages ? problem.caches.page_size : problem.cache;
    const Placement<kPlacesOperands<Layout>> of_q{problem.heads, queries, 1}, of_rows{kv_heads, rows_of_caches, 1};
    const unsigned short* const keys_of_all = reinterpret_cast<const unsigned short*>(k);
    const unsigned short* const values_of_all = reinterpret_cast<const unsigned short*>(v);
    auto arrive_copied = [&](Barrier* barrier) {
      if (packs) {
        arrive_after_copies(barrier);
      } else {
        fence_proxy();
        arrive(barrier);
      }
    };
#pragma unroll 1
    for (; piece.begin < piece.end; work.next(piece)) {
      const Part part = Part::template of<kRows, Keys>(problem, piece, tiles);
      wait(&queries_empty, query_phase ^ 1);
      query_phase ^= 1;
      const WarpgroupCopy<kRows, kColumns, Head::kIsExact> copy(
          shared_address(shared), reinterpret_cast<const unsigned short*>(q), dim, part.rows, thread, packs);
      copy.found(thread, [&](int row) {
        const int at = min(part.first_row + row, group * queries - 1);
        return of_q.of(part.batch, part.kv_head * group + at / queries, at % queries);
      });
      arrive_copied(&queries_full);
      const long long first = of_rows.of(Cache::kHasPages ? 0 : part.batch, part.kv_head, 0);
#pragma unroll 1
      for (int step = part.begin + rank; step < part.end; step += Cluster) {
        const int key = step * Keys;
        const unsigned key_tile = shared_address(areas) + state.stage * Tiles::kStage;
        const unsigned value_tile = key_tile + Tiles::kKeyTile;
        wait(keys_empty + state.stage, state.phase ^ 1);
        // The number of a row of a cache in pages. A page's number outside of them is the nearest one.
        auto find = [&](int row) {
          const int* const table = problem.caches.table + part.batch * static_cast<long long>(problem.caches.table_width);
          const int size = problem.caches.page_size, at = min(key + row, part.seen - 1), number = at / size;
          const int page = max(0, min(table[number], problem.caches.pages - 1));
          return of_rows.of(page, part.kv_head, at - number * size);
        };
        const int step_of_rows = of_rows.step();
        WarpgroupCopy<Keys, kColumns, Head::kIsExact>(key_tile, keys_of_all, dim, part.seen - key, thread, packs)
            .template of_cache<Cache::kHasPages>(thread, find, first, key, step_of_rows);
        arrive_copied(keys_full + state.stage);
        wait(values_empty + state.stage, state.phase ^ 1);
        WarpgroupCopy<Keys, kValueColumns, Head::kIsExact>(value_tile, values_of_all, value_dim, part.seen - key, thread, packs)
            .template of_cache<Cache::kHasPages>(thread, find, first, key, step_of_rows);
        arrive_copied(values_full + state.stage);
        state.advance();
      }
      if constexpr (Cluster > 1) {
        cluster_sync();  // as the consumers do, which reuse stages
        cluster_sync();
      }
    }
    cp_async_wait<0>();
    return;
  }

  allocate_registers<Tiles::kConsumerRegisters>();
  const Arrivals<Cluster> arrivals{scratch, work.workers};
  const WorkersResults<kRows, kValueColumns> of_workers{scratch + Arrivals<Cluster>::kFloats * Cluster * work.workers};
  const bool packs_results = head_sizes.value_dim() % 8 == 0 && aligned(out);
  const bool packs_fours = head_sizes.value_dim() % 4 == 0 && reinterpret_cast<unsigned long long>(out) % 8 == 0;
  const int consumer = warpgroup - 1, thread = threadIdx.x - 128;
  const int warp_row = consumer * 64 + threadIdx.x / 32 % 4 * 16, first_own = warp_row + lane / 4;
  auto sync = [] { asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory"); };
  auto release = [&](Barrier* barrier) {
    if (lane == 0) arrive(barrier);
  };
#pragma unroll 1
  for (; piece.begin < piece.end; work.next(piece)) {
    const Part part = Part::template of<kRows, Keys>(problem, piece, tiles);
    sync();
    if (thread == 0) mask = part.of_tile;
    sync();
    const Scoring<T, ScoreForm<T, Form...>> scoring{
        problem.form, mask, problem.causal,
        problem.scale * problem.caches.scale(problem.caches.key_scales, part.kv_head), part.before(problem)};
    // The numbers of the queries in this thread's rows, and the rows of the mask that these have: those of one head
    // are behind those of another.
    int numbers[2], mask_rows[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(part.first_row + first_own + 8 * half, group * queries - 1);
      numbers[half] = row % queries;
      mask_rows[half] = (part.masks == 1 ? 0 : row / queries * problem.mask_rows) + part.of_tile.row(numbers[half]);
    }
    const float factor = scoring.factor();
    Softmax softmax;
    float result[kValueColumns / 2], scores[Keys / 2], rescale[2];
    unsigned weights[Keys / 16][4];
#pragma unroll
    for (int i = 0; i < kValueColumns / 2; ++i) result[i] = 0.0f;

    auto gemm_qk = [&](int stage) {
      const unsigned long long keys_of_stage = descriptor_k_major(areas + stage * Tiles::kStage);
      const unsigned long long own = descriptor_k_major(shared + consumer * 64 * 128);
#pragma unroll
      for (int d = 0; d < kColumns; d += 16)
        wgmma<T, Keys, 0, 0>(scores, own + ((d / 64 * (kRows * 128) + d % 64 * 2) >> 4),
                             keys_of_stage + ((d / 64 * (Keys * 128) + d % 64 * 2) >> 4), d > 0);
      warpgroup_commit();
    };
    auto gemm_pv = [&](int stage) {
      const unsigned long long values_of_stage =
          descriptor_mn_major(areas + stage * Tiles::kStage + Tiles::kKeyTile, Keys * 128);
#pragma unroll
      for (int key = 0; key < Keys; key += 16)
        wgmma_from_registers<T, kValueColumns, 1>(result, weights[key / 16], values_of_stage + (key * 128 >> 4), 1);
      warpgroup_commit();
    };
    auto online_softmax = [&](int step) {
      const int start = step * Keys;
      scoring.apply(scores, numbers, mask_rows, start, start + lane % 4 * 2, start + Keys > part.seen_by_all);
      part.hide_before(problem, scores, numbers, start, start + lane % 4 * 2);
      return softmax.online_softmax(scores, factor, rescale);
    };
    auto pack = [&] {
#pragma unroll
      for (int key = 0; key < Keys / 16; ++key) pack_weights<T>(weights[key], scores + 8 * key);
    };

    wait(&queries_full, query_phase);
    query_phase ^= 1;
    int step = part.begin + rank;
    if (step < part.end) {
      wait(keys_full + state.stage, state.phase);
      fence_proxy();  // of copies by cp.async, before the tensor cores read them
      warpgroup_arrive();
      gemm_qk(state.stage);
      warpgroup_wait<0>();
      fence_registers(scores);
      release(keys_empty + state.stage);
      online_softmax(step);
      pack();
      PipelineState<Stages> next = state;
      next.advance();
      if (step + Cluster < part.end) wait(keys_full + next.stage, next.phase);
      wait(values_full + state.stage, state.phase);
      fence_proxy();
#pragma unroll 1
      for (step += Cluster; step < part.end; step += Cluster) {
        warpgroup_arrive();
        gemm_qk(next.stage);
        gemm_pv(state.stage);
        warpgroup_wait<1>();
        fence_registers(scores);
        release(keys_empty + next.stage);
        const bool grows = online_softmax(step);
        PipelineState<Stages> behind = next;
        behind.advance();
        // Here, and not later, since otherwise the compiler waits for the second product before the softmax.
        if (step + Cluster < part.end) wait(keys_full + behind.stage, behind.phase);
        wait(values_full + next.stage, next.phase);
        fence_proxy();
        warpgroup_wait<0>();
        fence_registers(result);
        release(values_empty + state.stage);
        state = next;
        next = behind;
        if (grows) {
#pragma unroll
          for (int i = 0; i < kValueColumns / 2; ++i) result[i] *= rescale[i % 4 / 2];
        }
        pack();
      }
      warpgroup_arrive();
      gemm_pv(state.stage);
      warpgroup_wait<0>();
      fence_registers(result);
      release(values_empty + state.stage);
      state = next;
    }
    release(&queries_empty);

    const PartResults<T, Head, Layout, Part, Problem<T, Cache, Form...>> results{problem, part, head_sizes, out,
                                                                                   packs_fours};
    float* const of_worker = of_workers.of(worker, piece.slot());
    float totals[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) totals[half] = softmax.total(half);
    if (Cluster == 1 && piece.is_whole()) {
      const int rows[2] = {min(first_own, part.rows - 1), min(first_own + 8, part.rows - 1)};
      store_row<0>(head_sizes, results.of(rows[0]), first_own < part.rows, result,
                   results.share(rows[0], softmax.maxima[0] * factor, totals[0]), lane, packs_results);
      store_row<1>(head_sizes, results.of(rows[1]), first_own + 8 < part.rows, result,
                   results.share(rows[1], softmax.maxima[1] * factor, totals[1]), lane, packs_results);
      continue;
    }
    // A partial result, in memory or for the cluster.
    float* const sums = Cluster == 1 ? of_worker : reinterpret_cast<float*>(areas);
    float* const maxima = Cluster == 1 ? of_worker + kRows * kValueColumns : row_sums.maxima;
    float* const all_weights = Cluster == 1 ? maxima + kRows : row_sums.weights;
    if constexpr (Cluster > 1) sync();  // the others' stages
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_own + 8 * half;
      if (row >= part.rows) continue;
      if (lane % 4 == 0) {
        maxima[row] = softmax.maxima[half] * factor;
        all_weights[row] = totals[half];
      }
#pragma unroll
      for (int i = 2 * half; i < kValueColumns / 2; i += 4)
        *reinterpret_cast<float2*>(sums + row * kValueColumns + i / 4 * 8 + lane % 4 * 2) =
            make_float2(result[i], result[i + 1]);
    }
    // This block's rows of the worker's result.
    const int share = (part.rows + Cluster - 1) / Cluster;
    const int begin_row = min(rank * share, part.rows), end_row = min(begin_row + share, part.rows);
    if constexpr (Cluster > 1) {
      cluster_sync();
      for (int i = begin_row * kFours + thread; i < end_row * kFours; i += kThreads) {
        const int row = i / kFours;
        Four four;
#pragma unroll
        for (int block = 0; block < Cluster; ++block)
          four.add(load_dsmem(row_sums.maxima + row, block), load_dsmem(row_sums.weights + row, block),
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
      if (arrivals.is_last(rank, worker, piece.slot(), first, first_slot, last, &is_last, thread, sync)) {
        for (int i = begin_row * kFours + thread; i < end_row * kFours; i += kThreads)
          results.store(i, of_workers.combined(first, first_slot, last, i));
      }
    }
    if constexpr (Cluster > 1) cluster_sync();  // others read this block's shared memory
  }
}

#define CUDA_KERNELS_DECODE                                                                             \
  __launch_bounds__(128 * (Consumers + 1), (DecodeTiles<Head, Consumers, Keys, Stages, false>::kResident)) \
      CUDA_KERNELS_CLUSTER(Cluster)

// The operands of the kernels of these names in `attention_decode.cu`, without caches of 8 bits.
template <class T, class Head, int Consumers, int Keys, int Stages, int Cluster, int Layout = kByHeads, class... Form>
__global__ void CUDA_KERNELS_DECODE attention_decode_sm90a(ATTENTION_OPERANDS(T), float* scratch, Form... form) {
  const Problem<T, Caches<T, false>, Form...> problem{mask,       spans,        nullptr, mask_batches, mask_heads,
                                                      mask_rows,  mask_is_bool, causal,  scale,        heads,
                                                      kv_heads,   queries,      keys,    {},           {form...}};
  decode<T, Head, Consumers, Keys, Stages, Cluster, Layout>(Head(dim, value_dim), q, k, v, out, scratch, problem, batches);
}

template <class T, class Head, int Consumers, int Keys, int Stages, int Cluster>
__global__ void CUDA_KERNELS_DECODE cached_attention_sm90a(const T* __restrict__ q,
                                                           const T* __restrict__ k,
                                                           const T* __restrict__ v,
                                                           const int* __restrict__ lengths,
                                                           T* __restrict__ out,
                                                           float scale,
                                                           int batches,
                                                           int heads,
                                                           int kv_heads,
                                                           int queries,
                                                           int cache,
                                                           int dim,
                                                           int value_dim,
                                                           float* scratch,
                                                           const int* __restrict__ window) {
  const Problem<T, Caches<T, false>> problem{nullptr, nullptr,  lengths, 1,     1,  1,  false,            true, scale,
                                             heads,   kv_heads, queries, cache, {}, {}, window_of(window)};
  decode<T, Head, Consumers, Keys, Stages, Cluster, kByHeads>(Head(dim, value_dim), q, k, v, out, scratch, problem, batches);
}

template <class T, class Head, int Consumers, int Keys, int Stages, int Cluster, int Layout>
__global__ void CUDA_KERNELS_DECODE paged_attention_sm90a(const T* __restrict__ q,
                                                          const T* __restrict__ k,
                                                          const T* __restrict__ v,
                                                          const int* __restrict__ table,
                                                          const int* __restrict__ lengths,
                                                          T* __restrict__ out,
                                                          float scale,
                                                          int batches,
                                                          int heads,
                                                          int kv_heads,
                                                          int queries,
                                                          int pages,
                                                          int page_size,
                                                          int table_width,
                                                          int dim,
                                                          int value_dim,
                                                          float* scratch,
                                                          const int* __restrict__ window) {
  using Cache = Caches<T, true>;
  const Problem<T, Cache> problem{nullptr,  nullptr, lengths, 1, 1, 1, false, true, scale, heads, kv_heads, queries,
                                  page_size * table_width, Cache{table, pages, page_size, table_width}, {}, window_of(window)};
  decode<T, Head, Consumers, Keys, Stages, Cluster, Layout>(Head(dim, value_dim), q, k, v, out, scratch, problem, batches);
}

#undef CUDA_KERNELS_DECODE

}  // namespace cuda_kernels
