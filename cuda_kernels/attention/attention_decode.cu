// Attention of few queries with a long cache of keys and values (flash-decoding), for f16 and bf16, accumulated in f32:
// a decoding step of a language model, several new queries of one, or a chunk of a prompt. Queries [batch, heads, queries, dim],
// keys [batch, kv_heads, keys, dim], and values [batch, kv_heads, keys, value_dim], of the sizes that Head takes
// (head_sizes.cuh). The queries of all heads that share a head of keys and values (GQA) are rows of the same tiles, of 16
// rows for each of `Groups`.
//
// Nearly all the time goes into reading the keys and the values, once for each tile. So the keys of all tiles of all
// sequences, in steps, are one row of work, of which every worker takes an equal part, wherever heads begin and
// end. Sequences with few keys take little of it. A worker is a cluster of blocks, or one block, of four warps. With tiles of
// 16 rows each warp takes other keys of a step, has its own stages of keys and values in flight (cp.async), and waits for no
// other warp until its keys are done. With 64 rows each warp has 16 of these, and all four share the keys of a step. Every warp
// has its online softmax and its partial result, on the tensor cores as in `attention_sm80.cu`.
//
// Partial results of a head are combined in a fixed order: those of warps in the block's shared memory; those of a cluster's
// blocks through distributed shared memory, where every block does some of the rows; and those of workers, where a head has
// several, by the last of them, in memory of the launch's own (`Arrivals`). So there is no second kernel.
//
// Memory traffic: 2 (dim + value_dim) bytes for each key, KV head and tile of rows, of which tiles but the first hit the L2
// cache; and two partial results for each worker, at most.

#include "../include/attention_tiles.cuh"
#include "../include/decode_problem.cuh"
#include "../include/small_floats.cuh"

namespace cuda_kernels {

// Of a block: a warp for each 16 rows, and at least four.
template <int Groups>
constexpr int kWarps = Groups < 4 ? 4 : Groups;

template <class T, class Head, int Groups, int Keys, int Stages, int Cluster, int Layout, class Cache, class... Form>
__device__ __forceinline__ void decode(const Head& head_sizes,
                                       const T* __restrict__ q,
                                       const typename Cache::Type* __restrict__ k,
                                       const typename Cache::Type* __restrict__ v,
                                       T* __restrict__ out,
                                       float* scratch,
                                       const Problem<T, Cache, Form...>& problem,
                                       int batches) {
  constexpr int least = 6;  // steps of a block that are worth another worker of a tile
  constexpr int kColumns = Head::kColumns, kValueColumns = Head::kValueColumns;
  constexpr int kRows = 16 * Groups;
  constexpr int kThreads = 32 * kWarps<Groups>;
  constexpr int kKeyGroups = kWarps<Groups> / Groups, kSharing = 32 * Groups;  // threads that share keys
  // Keys and values are moved as 16-bit words, of one number or of two.
  using U = typename Cache::Type;
  constexpr int kOfWord = 2 / sizeof(U);
  constexpr int kKeyWords = kColumns / kOfWord, kValueWords = kValueColumns / kOfWord;
  constexpr int kKeyTile = kTileBytes<Keys, kKeyWords>, kStage = kKeyTile + kTileBytes<Keys, kValueWords>;
  constexpr int kStepKeys = kKeyGroups * Keys;
  static_assert(kRows * kValueColumns * 4 <= Stages * kStage, "a partial result reuses stages");
  // Those of the groups of warps, and of the block.
  __shared__ RowSums<kRows> row_sums[kKeyGroups == 1 || Cluster == 1 ? kKeyGroups : kKeyGroups + 1];
  constexpr int kOfBlock = kKeyGroups == 1 ? 0 : kKeyGroups;
  extern __shared__ __align__(1024) char shared[];
  __shared__ int is_last;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int key_group = warp / Groups, row_group = warp % Groups, copier = threadIdx.x % kSharing;
  const int queries = problem.queries, kv_heads = problem.kv_heads, group = problem.heads / kv_heads;
  const int rows = group * queries, tiles = (rows + kRows - 1) / kRows;
  const int rank = Cluster == 1 ? 0 : blockIdx.x % Cluster;
  const bool packs = aligned(q, k, v) & are_packs<T>(head_sizes) & are_packs<U>(head_sizes);
  const int key_words = head_sizes.dim() / kOfWord, value_words = head_sizes.value_dim() / kOfWord;
  const bool packs_results = head_sizes.value_dim() % 4 == 0 && reinterpret_cast<unsigned long long>(out) % 8 == 0;
  const int rows_of_caches = Cache::kHasPages ? problem.caches.page_size : problem.cache;
  const Placement<kPlacesOperands<Layout>> of_q{problem.heads, queries, head_sizes.dim()},
      of_k{kv_heads, rows_of_caches, key_words}, of_v{kv_heads, rows_of_caches, value_words};
  using Word = typename WordOf<U>::Type;
  const Word* const key_words_of_all = reinterpret_cast<const Word*>(k);
  const Word* const value_words_of_all = reinterpret_cast<const Word*>(v);

  const unsigned query_tile = shared_address(shared);
  char* const areas = shared + kTileBytes<kRows, kColumns>;  // of stages, and then of partial results
  char* const own = areas + key_group * Stages * kStage;
  const unsigned key_tile = shared_address(own), value_tile = key_tile + kKeyTile;
  auto group_sync = [&] {
    if constexpr (Groups == 1) {
      __syncwarp();
    } else if constexpr (kKeyGroups == 1) {
      __syncthreads();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(1 + key_group), "n"(kSharing) : "memory");
    }
  };

  const Work<kStepKeys> work(problem.lengths, problem.reach(kStepKeys), batches, kv_heads * tiles, gridDim.x / Cluster, Cluster, least);
  const int worker = blockIdx.x / Cluster;
  if (worker >= work.workers) return;
  const Arrivals<Cluster> arrivals{scratch, work.workers};
  const WorkersResults<kRows, kValueColumns> of_workers{scratch + Arrivals<Cluster>::kFloats * Cluster * work.workers};
  using Part = TilePart<T, Cache, Form...>;

  Piece piece = work.first_piece(worker);
#pragma unroll 1
  for (; piece.begin < piece.end; work.next(piece)) {
    const Part part = Part::template of<kRows, kStepKeys>(problem, piece, tiles);
    const int batch = part.batch, kv_head = part.kv_head, first_row = part.first_row, tile_rows = part.rows;
    const int seen = part.seen, begin = part.begin, end = part.end;
    const Word* const keys_of_head = key_words_of_all + of_k.of(Cache::kHasPages ? 0 : batch, kv_head, 0);
    const Word* const values_of_head = value_words_of_all + of_v.of(Cache::kHasPages ? 0 : batch, kv_head, 0);
    const Scoring<T, ScoreForm<T, Form...>> scoring{
        problem.form, part.of_tile, problem.causal,
        problem.scale * problem.caches.scale(problem.caches.key_scales, kv_head), part.before(problem)};

    copy_rows<kRows, kColumns, kThreads, Head::kIsExact>(
        query_tile, head_sizes.dim(), tile_rows, threadIdx.x, packs, [&](int row, int) {
          return q + of_q.of(batch, kv_head * group + (first_row + row) / queries, (first_row + row) % queries);
        });
    cp_async_commit();

    const int* const table =
        Cache::kHasPages ? problem.caches.table + batch * static_cast<long long>(problem.caches.table_width) : nullptr;
    auto load = [&](int step, int stage) {
      if (step < end) {
        const int key = step * kStepKeys + key_group * Keys;
        if constexpr (Cache::kHasPages) {
          const int size = problem.caches.page_size, pages = problem.caches.pages;
          // The rows of a page and of a key in it. A page's number outside of them is the nearest one.
          auto find = [&](int at, int& page, int& row) {
            const int number = min(at, seen - 1) / size;
            page = max(0, min(table[number], pages - 1));
            row = min(at, seen - 1) - number * size;
          };
          if (size % 16 == 0) {  // each 16 keys are in one page
            long long of_keys[Keys / 16], of_values[Keys / 16];
#pragma unroll
            for (int i = 0; i < Keys / 16; ++i) {
              int page, row;
              find(key + 16 * i, page, row);
              row -= row % 16;
              of_keys[i] = of_k.of(page, 0, row);
              of_values[i] = of_v.of(page, 0, row);
            }
            // Without an index that is not known: it would put them into memory.
            auto of = [](const long long (&places)[Keys / 16], int which) {
              long long found = places[0];
#pragma unroll
              for (int other = 1; other < Keys / 16; ++other) found = which == other ? places[other] : found;
              return found;
            };
            // The first row that is copied with one tells which 16, unless they are more than 16.
            constexpr bool kFarKeys = kSharing / kNextPower<kKeyWords / 8> > 16;
            constexpr bool kFarValues = kSharing / kNextPower<kValueWords / 8> > 16;
            copy_rows<Keys, kKeyWords, kSharing, Head::kIsExact>(
                key_tile + stage * kStage, key_words, seen - key, copier, packs,
                [&](int row, int i) { return keys_of_head + (of(of_keys, (kFarKeys ? row : i) / 16) + row % 16 * of_k.step()); });
            copy_rows<Keys, kValueWords, kSharing, Head::kIsExact>(
                value_tile + stage * kStage, value_words, seen - key, copier, packs,
                [&](int row, int i) { return values_of_head + (of(of_values, (kFarValues ? row : i) / 16) + row % 16 * of_v.step()); });
          } else {
            copy_rows<Keys, kKeyWords, kSharing, Head::kIsExact>(
                key_tile + stage * kStage, key_words, seen - key, copier, packs, [&](int at, int) {
                  int page, row;
                  find(key + at, page, row);
                  return keys_of_head + of_k.of(page, 0, row);
                });
            copy_rows<Keys, kValueWords, kSharing, Head::kIsExact>(
                value_tile + stage * kStage, value_words, seen - key, copier, packs, [&](int at, int) {
                  int page, row;
                  find(key + at, page, row);
                  return values_of_head + of_v.of(page, 0, row);
                });
          }
        } else {
          copy_tile<Keys, kKeyWords, kSharing, Head::kIsExact>(key_tile + stage * kStage, keys_of_head, key_words,
                                                               of_k.step(), key, seen, copier, packs);
          copy_tile<Keys, kValueWords, kSharing, Head::kIsExact>(value_tile + stage * kStage, values_of_head, value_words,
                                                                 of_v.step(), key, seen, copier, packs);
        }
      }
      cp_async_commit();
    };
    int step = begin + rank;
#pragma unroll
    for (int stage = 0; stage < Stages - 1; ++stage) load(step + stage * Cluster, stage);

    cp_async_wait<Stages - 1>();
    __syncthreads();
    // Queries stay in registers, if there is room.
    constexpr bool kKeepsQueries = kColumns / 4 + kValueColumns / 2 + Keys / 2 <= 176;
    unsigned query[kKeepsQueries ? kColumns / 16 : 1][4];
    auto load_query = [&](unsigned (&to)[4], int d) {
      if constexpr (kOfWord == 1) {
        ldmatrix(to, (query_tile + tile_offset<kRows>(row_group * 16 + lane % 16, lane / 16) ^ d % 64 * 2) +
                         d / 64 * kRows * 128);
      } else {  // in the order of a thread's four numbers of a key
        const int unit = d / 8 + lane % 4 / 2, half = lane % 2 * 8, row = row_group * 16 + lane / 4;
        load_pairs(to[0], to[2], query_tile + tile_offset<kRows>(row, unit) + half);
        load_pairs(to[1], to[3], query_tile + tile_offset<kRows>(row + 8, unit) + half);
      }
    };
    if constexpr (kKeepsQueries) {
#pragma unroll
      for (int d = 0; d < kColumns; d += 16) load_query(query[d / 16], d);
    }

    const unsigned key_rows = kOfWord == 1 ? tile_offset<Keys>(lane / 16 * 8 + lane % 8, lane / 8 % 2)
                                           : tile_offset<Keys>(lane % 16, 0);
    const unsigned value_rows = tile_offset<Keys>(lane % 16, lane / 16);
    // The numbers of the queries in this thread's rows, and the rows of the mask that these have: those of one head
    // are behind those of another.
    int numbers[2], mask_rows[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(first_row + row_group * 16 + lane / 4 + 8 * half, rows - 1);
      numbers[half] = row % queries;
      mask_rows[half] = (part.masks == 1 ? 0 : row / queries * problem.mask_rows) + part.of_tile.row(numbers[half]);
    }
    const float factor = scoring.factor();
    Softmax softmax;
    float result[kValueColumns / 2];
#pragma unroll
    for (int i = 0; i < kValueColumns / 2; ++i) result[i] = 0.0f;

    int stage = 0;
#pragma unroll 1
    for (; step < end; step += Cluster) {
      cp_async_wait<Stages - 2>();
      group_sync();  // the copies of all threads have arrived, and the next stage is no longer read
      load(step + (Stages - 1) * Cluster, stage == 0 ? Stages - 1 : stage - 1);
      const unsigned keys_here = key_tile + stage * kStage + key_rows;
      const unsigned values_here = value_tile + stage * kStage + value_rows;

      float scores[Keys / 2] = {};
#pragma unroll
      for (int d = 0; d < kColumns; d += 16) {
        constexpr int kept = kKeepsQueries ? 1 : 0;
        const int word = d / kOfWord;
        if constexpr (!kKeepsQueries) load_query(query[0], d);
#pragma unroll
        for (int key = 0; key < Keys; key += 16) {
          const unsigned at = (keys_here + key * 128 ^ word % 64 * 2) + word / 64 * Keys * 128;
          unsigned pair[4];
          if constexpr (kOfWord == 1) {
            ldmatrix(pair, at);
          } else {
            ldmatrix_pair(pair[0], pair[2], at);
            widen<T, U>(pair[0], pair[0], pair[1]);
            widen<T, U>(pair[2], pair[2], pair[3]);
          }
          mma_block<T>(scores + key / 2, query[kept * d / 16], pair[0], pair[1]);
          mma_block<T>(scores + key / 2 + 4, query[kept * d / 16], pair[2], pair[3]);
        }
      }
      const int start = step * kStepKeys + key_group * Keys;
      scoring.apply(scores, numbers, mask_rows, start, start + lane % 4 * 2, start + Keys > part.seen_by_all);
      part.hide_before(problem, scores, numbers, start, start + lane % 4 * 2);
      float rescale[2];
      if (softmax.online_softmax(scores, factor, rescale)) {
#pragma unroll
        for (int i = 0; i < kValueColumns / 2; ++i) result[i] *= rescale[i % 4 / 2];
      }
#pragma unroll
      for (int key = 0; key < Keys; key += 16) {
        unsigned weights[4];
        pack_weights<T>(weights, scores + key / 2);
#pragma unroll
        for (int word = 0; word < kValueWords; word += 16) {
          unsigned value[4];
          ldmatrix_transposed(value, (values_here + key * 128 ^ word % 64 * 2) + word / 64 * Keys * 128);
          if constexpr (kOfWord == 1) {
            mma_block<T>(result + word / 2, weights, value[0], value[1]);
            mma_block<T>(result + word / 2 + 4, weights, value[2], value[3]);
          } else {
#pragma unroll
            for (int half = 0; half < 2; ++half) {  // even columns, then odd ones
              unsigned even[2], odd[2];
              widen<T, U>(alternating(value[2 * half]), even[0], odd[0]);
              widen<T, U>(alternating(value[2 * half + 1]), even[1], odd[1]);
              mma_block<T>(result + word + 8 * half, weights, even[0], even[1]);
              mma_block<T>(result + word + 8 * half + 4, weights, odd[0], odd[1]);
            }
          }
        }
      }
      stage = stage == Stages - 1 ? 0 : stage + 1;
    }
    cp_async_wait<0>();
    group_sync();

    // Into shared memory.
    float* const sums = reinterpret_cast<float*>(own);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = row_group * 16 + lane / 4 + 8 * half;
      const float weight = softmax.total(half);
      if (lane % 4 == 0) {
        row_sums[key_group].maxima[row] = softmax.maxima[half] * factor;
        row_sums[key_group].weights[row] = weight;
      }
#pragma unroll
      for (int i = 2 * half; i < kValueColumns / 2; i += 4 * kOfWord) {
        float* const to = sums + row * kValueColumns + i / 4 * 8 + lane % 4 * 2 * kOfWord;
        if constexpr (kOfWord == 1) {
          *reinterpret_cast<float2*>(to) = make_float2(result[i], result[i + 1]);
        } else {
          *reinterpret_cast<float4*>(to) = make_float4(result[i], result[i + 4], result[i + 1], result[i + 5]);
        }
      }
    }
    __syncthreads();

    constexpr int kFours = kValueColumns / 4;  // of a row
    auto combined_warps = [&](int row, int at) {
      Four four;
#pragma unroll
      for (int i = 0; i < kKeyGroups; ++i)
        four.add(row_sums[i].maxima[row], row_sums[i].weights[row],
                 reinterpret_cast<const float4*>(areas + i * Stages * kStage)[at]);
      return four;
    };
    if constexpr (Cluster > 1) {
      if constexpr (kKeyGroups > 1) {
        for (int i = threadIdx.x; i < tile_rows * kFours; i += kThreads) {
          const Four four = combined_warps(i / kFours, i);
          reinterpret_cast<float4*>(areas)[i] = four.sum;  // no other thread reads these
          if (i % kFours == 0) {
            row_sums[kOfBlock].maxima[i / kFours] = four.maximum;
            row_sums[kOfBlock].weights[i / kFours] = four.weight;
          }
        }
      }
      cluster_sync();
    }
    // This block's rows of the worker's result.
    const int share = (tile_rows + Cluster - 1) / Cluster;
    const int begin_row = min(rank * share, tile_rows), end_row = min(begin_row + share, tile_rows);
    const PartResults<T, Head, Layout, Part, Problem<T, Cache, Form...>> results{problem, part, head_sizes, out, packs_results};
    float* const of_worker = of_workers.of(worker, piece.slot());
    for (int i = begin_row * kFours + threadIdx.x; i < end_row * kFours; i += kThreads) {
      const int row = i / kFours;
      Four four;
      if constexpr (Cluster == 1) {
        four = combined_warps(row, i);
      } else {
#pragma unroll
        for (int block = 0; block < Cluster; ++block)
          four.add(load_dsmem(row_sums[kOfBlock].maxima + row, block), load_dsmem(row_sums[kOfBlock].weights + row, block),
                   load_dsmem_four(reinterpret_cast<const float4*>(areas) + i, block));
      }
      if (piece.is_whole()) {
        results.store(i, four);
      } else {
        of_workers.write(of_worker, i, four);
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

// As many blocks as a multiprocessor has shared memory for, up to two, which limits registers.
template <class U, class Head, int Groups, int Keys, int Stages>
constexpr int kResident =
    kTileBytes<16 * Groups, Head::kColumns> +
                kWarps<Groups> / Groups * Stages *
                    (kTileBytes<Keys, Head::kColumns * sizeof(U) / 2> + kTileBytes<Keys, Head::kValueColumns * sizeof(U) / 2>) <=
                112 * 1024 &&
            Groups <= 4
        ? 2
        : 1;
#define CUDA_KERNELS_DECODE(U) \
  __launch_bounds__(32 * kWarps<Groups>, (kResident<U, Head, Groups, Keys, Stages>)) CUDA_KERNELS_CLUSTER(Cluster)

// The operands and the rules of `attention_sm80.cu`, and memory of the launch's own.
template <class T, class Head, int Groups, int Keys, int Stages, int Cluster, int Layout = kByHeads, class... Form>
__global__ void CUDA_KERNELS_DECODE(T) attention_decode(ATTENTION_OPERANDS(T), float* scratch, Form... form) {
  const Problem<T, Caches<T, false>, Form...> problem{mask,       spans,        nullptr, mask_batches, mask_heads,
                                                      mask_rows,  mask_is_bool, causal,  scale,        heads,
                                                      kv_heads,   queries,      keys,    {},           {form...}};
  decode<T, Head, Groups, Keys, Stages, Cluster, Layout>(Head(dim, value_dim), q, k, v, out, scratch, problem, batches);
}

// With a KV cache that has `lengths[sequence]` keys. The queries are the last of these: query i sees the keys
// before `length - queries + 1 + i`. Keys and values may be of 8 bits, of type U; then `scales` are what they are multiplied by:
// those of keys, those of values, and how many of each there are.
template <class T, class U, class Head, int Groups, int Keys, int Stages, int Cluster, class... Last>
__global__ void CUDA_KERNELS_DECODE(U) cached_attention(const T* __restrict__ q,
                                                        const U* __restrict__ k,
                                                        const U* __restrict__ v,
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
                                                        Last... last) {
  using Cache = Caches<U, false>;
  const Problem<T, Cache> problem{nullptr, nullptr, lengths, 1,       1,     1, false, true, scale, heads, kv_heads,
                                  queries, cache,   with_scales(Cache{}, last...),  {}, window_of(last...)};
  decode<T, Head, Groups, Keys, Stages, Cluster, kByHeads>(Head(dim, value_dim), q, k, v, out, scratch, problem, batches);
}

// The same with pages [pages, kv_heads, page_size, dim], or by position [pages, page_size, kv_heads, dim], of which sequence b
// has those whose numbers are in row b of `table` [batch, table_width].
template <class T, class U, class Head, int Groups, int Keys, int Stages, int Cluster, int Layout, class... Last>
__global__ void CUDA_KERNELS_DECODE(U) paged_attention(const T* __restrict__ q,
                                                       const U* __restrict__ k,
                                                       const U* __restrict__ v,
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
                                                       Last... last) {
  using Cache = Caches<U, true>;
  const Problem<T, Cache> problem{nullptr,  nullptr, lengths, 1, 1, 1, false, true, scale, heads, kv_heads, queries,
                                  page_size * table_width, with_scales(Cache{table, pages, page_size, table_width}, last...), {}, window_of(last...)};
  decode<T, Head, Groups, Keys, Stages, Cluster, Layout>(Head(dim, value_dim), q, k, v, out, scratch, problem, batches);
}

}  // namespace cuda_kernels
