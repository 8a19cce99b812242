// Attention forward for Hopper (sm_90a), with the operands and the rules of `attention_sm80.cu`.
//
// The idea (FlashAttention-3): persistent, warp-specialised, with softmax and GEMMs overlapped. A block has 64 queries for
// each of its consumer warpgroups and goes over the keys tile by tile. Its first warpgroup is the producer: it issues TMA
// loads, and deallocates most of its registers for the consumers. A consumer keeps scores, weights and output in
// registers: the accumulators of Q K^T, rounded, are operand A of the second product (wgmma RS). For heads of 128 it
// keeps the queries in registers too; heads of 64 have three consumers instead of two, and larger heads more accumulators,
// which leaves no room for that.
//
// Memory traffic: each query is read and each result written once; keys and values are read once for every kQueries
// queries, mostly from the L2 cache.
//
// The pipeline. Tiles of keys and of values each have Stages stages. Each stage has two barriers: "full", on which a
// load arrives, and "empty", on which the consumers release it. A consumer has two products in flight:
//
//   tensor cores   Q K^T of tile 1 | P V of tile 0, Q K^T of tile 2 | P V of tile 1, ...
//   threads                        | softmax of tile 1              | softmax of tile 2, ...
//
// so its softmax overlaps its own second product, and the products of the other consumers.
//
// With NumberStages > 0, numbers of a mask are loaded tile by tile too, by the producer's other warps (`number_tiles.cuh`).
// The operands of Form are those of `../include/score_form.cuh`.
//
// Blocks are persistent, one on each multiprocessor: a block takes one work tile after another, and the first loads of
// the next are issued while the consumers finish. Of causal heads the longest tiles come first, and every second round
// goes to the blocks in reverse order, which balances the load; or, where their keys do not fit into the L2 cache, a few heads
// at a time, each block has a long tile and a short one in turn. Consumers stay idle where smaller work tiles need less
// time, as these fill the last round better.

#include "../include/attention_placement.cuh"
#include "../include/attention_tiles.cuh"
#include "../include/number_tiles.cuh"
#include "../include/tensor_map.cuh"
#include "../include/wgmma_registers.cuh"

namespace cuda_kernels {

// A tile of queries of one head of one sequence.
struct WorkTile {
  int first, head, sequence;
};

// The static persistent tile scheduler: which work tiles exist, and which block takes which.
template <int Queries>
struct TileScheduler {
  int rows;                     // queries of a work tile
  int tiles, heads, all_heads;  // tiles of a head; heads of a sequence, and of all
  bool differ, in_pairs;        // tiles in length, since causal, or with a mask that most likely is; see `find`

  __device__ __forceinline__ TileScheduler(
      int queries, int heads_of_one, int sequences, int of_tile, bool tiles_differ, bool keys_fit)
      : rows(of_tile),
        tiles((queries + of_tile - 1) / of_tile),
        heads(heads_of_one),
        all_heads(heads_of_one * sequences),
        differ(tiles_differ),
        in_pairs(tiles_differ && !keys_fit) {}

  // The queries of a tile with which the rounds take the least time. A tile with c consumers takes about as long as
  // 2 c + 3 of half a consumer's: the fit of what `attention_64.tuning.json` has of two and of three.
  __device__ __forceinline__ static int fastest(int queries, int all_heads) {
    int found = Queries, least = 0x7fffffff;
#pragma unroll 1
    for (int rows = Queries; rows > 0; rows -= 64) {
      const long long count = (queries + rows - 1) / rows * static_cast<long long>(all_heads);
      const int rounds = static_cast<int>((count + gridDim.x - 1) / gridDim.x);
      const int time = min(rounds, 1 << 26) * (rows / 32 + 3);
      if (time < least) found = rows, least = time;
    }
    return found;
  }

  // Work tiles of a round of all blocks, or in pairs of two rounds: there half of the heads have the first round, and the
  // others, in the opposite order, the second.
  __device__ __forceinline__ int count() const { return in_pairs ? (all_heads + 1) / 2 * tiles : all_heads * tiles; }

  __device__ __forceinline__ bool has(int round) const { return (in_pairs ? round / 2 : round) * gridDim.x < count(); }

  // This block's work tile of a round; in the last round some blocks have none.
  __device__ __forceinline__ bool find(int round, WorkTile& work) const {
    const bool is_second = differ && round % 2 == 1;
    int place = (in_pairs ? round / 2 : round) * gridDim.x + blockIdx.x;
    if (is_second && !in_pairs) place += gridDim.x - 1 - 2 * blockIdx.x;
    if (place >= count()) return false;
    // The tiles of a head side by side, which read the same keys; or the longest tiles of all heads first.
    const bool beside = in_pairs || !differ;
    int head = beside ? place / tiles : place % all_heads, tile = beside ? place % tiles : place / all_heads;
    if (differ && !(in_pairs && is_second)) tile = tiles - 1 - tile;
    if (in_pairs && is_second) head += (all_heads + 1) / 2;
    if (head >= all_heads) return false;
    work = {tile * rows, head % heads, head / heads};
    return true;
  }
};

// The mask as each head has it, and the tiles of keys that a work tile needs.
template <bool ScoresHide>
struct AllMasks {
  const void* values;
  const int* spans;
  bool is_bool;
  int bytes, batches, heads, rows, keys;
  bool causal;

  __device__ __forceinline__ HeadMask of(const WorkTile& work) const {
    return HeadMask(values, spans, is_bool, bytes, batches, heads, rows, keys, work.sequence, work.head, ScoresHide);
  }

  // Whether numbers are added to scores of a work tile.
  __device__ __forceinline__ bool adds_numbers(const WorkTile& work, int queries) const {
    const HeadMask of_head = of(work);
    return of_head.adds_numbers(of_head.span(work.first, queries));
  }

  // The first key of the first tile, and the end of what is seen.
  template <int Keys>
  __device__ __forceinline__ void range(const WorkTile& work, int queries, int& begin, int& end) const {
    const Span span = of(work).span(work.first, queries);
    end = causal ? min(span.end, work.first + queries) : span.end;
    begin = min(span.begin, end) / Keys * Keys;
  }
};

// Shared memory: tiles, in boxes of 64 columns with the 128-byte swizzle, and their barriers.
template <class Head, int Keys, int Queries, int Stages>
struct SharedStorage {
  char queries[kTileBytes<Queries, Head::kColumns>];
  char keys[Stages][kTileBytes<Keys, Head::kColumns>], values[Stages][kTileBytes<Keys, Head::kValueColumns>];
  TensorMap staging[3];
  const TensorMap* maps[3];  // of queries, keys and values
  Barrier queries_full, queries_empty;
  Barrier keys_full[Stages], keys_empty[Stages], values_full[Stages], values_empty[Stages];
};

// Behind these: the stages of the mask's numbers, which are in front of them, as whole rows of 1024 bytes.
template <int Stages>
struct NumberPipeline {
  TensorMap staging;
  const TensorMap* map;  // null where the numbers are loaded row by row
  Barrier full[Stages > 0 ? Stages : 1], empty[Stages > 0 ? Stages : 1];
};

// TMA loads of tiles by one thread, with zeros in the columns that the operand does not have. Operands are numbered:
// queries, keys, values; of each, `heads` are beside each other.
template <bool ByPosition>
struct TmaLoads {
  const TensorMap* const* maps;
  int heads, kv_heads;

  // Of a tile of Rows rows the first `count`, whole boxes.
  template <int Rows, int Columns, int BoxRows>
  __device__ __forceinline__ void load(
      char* tile, Barrier* full, int operand, int first, int sequence, int head, int count = Rows) const {
    const int matrix = sequence * (operand == 0 ? heads : kv_heads) + head;
    arrive_and_expect(full, kTileBytes<BoxRows, Columns> * (count / BoxRows));
#pragma unroll
    for (int d = 0; d < Columns; d += 64)
#pragma unroll
      for (int row = 0; row < Rows; row += BoxRows) {
        if (row >= count) break;
        char* const to = tile + d * (Rows * 2) + row * 128;
        if constexpr (ByPosition) {
          tma_load(to, maps[operand], full, d, first + row, head, sequence);
        } else {
          tma_load(to, maps[operand], full, d, first + row, matrix);
        }
      }
  }
};

// The same by all threads of the producer warpgroup, for operands at addresses, or with rows, that TMA does not take.
template <class T, class Head, bool ByPosition>
struct ElementLoads {
  const T *q, *k, *v;
  int queries, keys, heads, kv_heads;
  Head head_sizes;

  template <int Rows, int Columns, int BoxRows>
  __device__ __forceinline__ void load(
      char* tile, Barrier* full, int operand, int first, int sequence, int head, int count = Rows) const {
    const int rows = operand == 0 ? queries : keys, columns = operand == 2 ? head_sizes.value_dim() : head_sizes.dim();
    const Placement<ByPosition> place{operand == 0 ? heads : kv_heads, rows, columns};
    const T* const from = (operand == 0 ? q : operand == 1 ? k : v) + place.of(sequence, head, first);
#pragma unroll 1
    for (int i = threadIdx.x; i < count * Columns; i += 128) {
      const int row = i / Columns, unit = i % Columns / 8;
      T* const to = reinterpret_cast<T*>(tile + tile_offset<Rows>(row, unit));
      if constexpr (Head::kIsExact) {
        to[i % 8] = first + row < rows ? from[row * place.step() + i % Columns] : static_cast<T>(0.0f);
      } else {
        const int column = i % Columns;
        to[i % 8] = first + row < rows && column < columns ? from[row * place.step() + column] : static_cast<T>(0.0f);
      }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    arrive(full);
  }
};

// The producer: loads the tiles of queries, keys and values in the order in which they are used.
template <class Head, int Keys, int Queries, int Stages, class Loads, class Masks>
__device__ __forceinline__ void producer(const TileScheduler<Queries>& scheduler,
                                        SharedStorage<Head, Keys, Queries, Stages>& pipeline,
                                        const Loads& loads,
                                        const Masks& masks,
                                        int heads,
                                        int kv_heads) {
  PipelineState<Stages> key_state, value_state;
  unsigned phase = 0;
  WorkTile work;
  for (int round = 0; scheduler.has(round); ++round) {
    if (!scheduler.find(round, work)) continue;
    int begin, end;
    masks.range<Keys>(work, scheduler.rows, begin, end);
    if (begin >= end) continue;
    const int kv_head = work.head * kv_heads / heads;
    auto load_keys = [&](int start) {
      wait(pipeline.keys_empty + key_state.stage, key_state.phase ^ 1);
      loads.template load<Keys, Head::kColumns, Keys>(
          pipeline.keys[key_state.stage], pipeline.keys_full + key_state.stage, 1, start, work.sequence,
          kv_head);
      key_state.advance();
    };
    wait(&pipeline.queries_empty, phase ^ 1);
    phase ^= 1;
    loads.template load<Queries, Head::kColumns, 64>(
        pipeline.queries, &pipeline.queries_full, 0, work.first, work.sequence, work.head, scheduler.rows);
    load_keys(begin);
    for (int start = begin; start < end; start += Keys) {
      if (start + Keys < end) load_keys(start + Keys);
      wait(pipeline.values_empty + value_state.stage, value_state.phase ^ 1);
      loads.template load<Keys, Head::kValueColumns, Keys>(
          pipeline.values[value_state.stage], pipeline.values_full + value_state.stage, 2, start,
          work.sequence, kv_head);
      value_state.advance();
    }
  }
}

// The producer of the mask's numbers, by warps 1 to 3 of the producer warpgroup; with a map by one of their threads.
template <class T, int Keys, bool ByTma, int Queries, int Stages, int Rows, class Masks>
__device__ __forceinline__ void number_producer(const TileScheduler<Queries>& scheduler,
                                                char* tiles,
                                                NumberPipeline<Stages>& pipeline,
                                                const Masks& masks) {
  using Area = NumberArea<Queries, Keys, Stages, Rows>;
  PipelineState<ByTma ? Stages : Rows> state;
  WorkTile work;
  for (int round = 0; scheduler.has(round); ++round) {
    if (!scheduler.find(round, work) || !masks.adds_numbers(work, scheduler.rows)) continue;
    int begin, end;
    masks.range<Keys>(work, scheduler.rows, begin, end);
    const int number = (masks.batches == 1 ? 0 : work.sequence) * masks.heads + (masks.heads == 1 ? 0 : work.head);
    const NumberRows of_rows(masks.values, masks.batches * static_cast<long long>(masks.heads) * masks.rows, masks.keys,
                             number * static_cast<long long>(masks.rows) + (masks.rows == 1 ? 0 : work.first));
    for (int start = begin; start < end; start += Keys) {
      Barrier* const full = pipeline.full + state.stage;
      wait(pipeline.empty + state.stage, state.phase ^ 1);
      if constexpr (ByTma) {
        char* const tile = tiles + state.stage * Area::kTile;
        arrive_and_expect(full, kTileBytes<64, Keys> * (scheduler.rows / 64));
#pragma unroll
        for (int column = 0; column < Keys; column += 64)
#pragma unroll
          for (int row = 0; row < Queries; row += 64) {
            if (row >= scheduler.rows) break;
            tma_load(tile + column * (Queries * 2) + row * 128, pipeline.map, full, start + column, work.first + row,
                     number);
          }
      } else {
        const int rows = masks.rows == 1 ? 1 : min(scheduler.rows, masks.rows - work.first);
        of_rows.copy<Keys, 96>(tiles + state.stage * Area::kTileOfRows, full, rows, start, threadIdx.x - 32);
      }
      state.advance();
    }
  }
}

template <class T, class Head, int Keys, int Consumers, int Stages, int Layout = kByHeads, int NumberStages = 0, class... Form>
__global__ void __launch_bounds__(128 * (Consumers + 1), 1) attention_sm90a(ATTENTION_OPERANDS(T), Form... form) {
  constexpr int kQueries = 64 * Consumers, kColumns = Head::kColumns, kValueColumns = Head::kValueColumns;
  constexpr bool kHoldsQueries = kColumns == 128 || kColumns == 96 || kColumns == 80;
  const Head head_sizes(dim, value_dim);
  // 65536 registers for all threads.
  static_assert(Consumers == 2 || Consumers == 3, "the register counts are for 2 or 3");
  constexpr int kProducerRegisters = Consumers == 2 ? 40 : 32, kConsumerRegisters = Consumers == 2 ? 232 : 160;

  extern __shared__ __align__(1024) char shared[];
  using Storage = SharedStorage<Head, Keys, kQueries, Stages>;
  constexpr int kRowStages =
      kStagesOfRows<kQueries, Keys, NumberStages, sizeof(Storage) + sizeof(NumberPipeline<NumberStages>)>;
  using Numbers = NumberArea<kQueries, Keys, NumberStages, kRowStages>;
  Storage& pipeline = *reinterpret_cast<Storage*>(shared + Numbers::kBytes);
  auto& of_numbers = *reinterpret_cast<NumberPipeline<NumberStages>*>(shared + Numbers::kBytes + sizeof(Storage));

  // Else the producer warpgroup loads element by element.
  const bool uses_tma = aligned(q, k, v) & are_packs<T>(head_sizes);
  using Scheduler = TileScheduler<kQueries>;
  const int of_tile = Scheduler::fastest(queries, heads * batches);
  const bool numbers_by_tma = aligned(mask) & (keys % 8 == 0) & (mask_rows > 1);  // else by rows
  if (threadIdx.x == 0) {
    const int producers = uses_tma ? 1 : 128, consumers = of_tile / 16;  // a thread, all; warps
    initialise(&pipeline.queries_full, producers);
    initialise(&pipeline.queries_empty, consumers);
    for (int i = 0; i < Stages; ++i) {
      initialise(pipeline.keys_full + i, producers);
      initialise(pipeline.values_full + i, producers);
      initialise(pipeline.keys_empty + i, consumers);
      initialise(pipeline.values_empty + i, consumers);
    }
    if constexpr (NumberStages > 0) {
      for (int i = 0; i < NumberStages; ++i) {
        initialise(of_numbers.full + i, numbers_by_tma ? 1 : 96);
        initialise(of_numbers.empty + i, consumers);
      }
      of_numbers.map = nullptr;
    }
    publish_barriers();
  }
  __syncthreads();

  const bool keys_fit = fit_l2(batches * kv_heads, keys, head_sizes.dim() + head_sizes.value_dim()) >= 0.5f;
  const Scheduler scheduler(queries, heads, batches, of_tile, causal || spans != nullptr, keys_fit);
  using Masks = AllMasks<ScoreForm<T, Form...>::kMayHide>;
  const Masks masks{mask, spans, mask_is_bool, sizeof(T), mask_batches, mask_heads, mask_rows, keys, causal};
  // Where all of the producer loads element by element, the consumers read the mask themselves.
  const bool stages_numbers = NumberStages > 0 && uses_tma && mask != nullptr && !mask_is_bool;
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  WorkTile work;
  const TensorMap* own_map = nullptr;  // that this warp made

  if (warpgroup == 0) {
    deallocate_registers<kProducerRegisters>();
    if (uses_tma) {
      const int warp = threadIdx.x / 32;
      if (warp < 3) {
        const T* const operand = warp == 0 ? q : warp == 1 ? k : v;
        const int rows = max(1, warp == 0 ? queries : keys), own_heads = warp == 0 ? heads : kv_heads;
        const int columns = warp == 2 ? head_sizes.value_dim() : head_sizes.dim();
        constexpr bool alternate = kPlacesOperands<Layout>;
        own_map = make_tensor_map<T>(
            pipeline.staging + warp, {operand, columns, rows, alternate ? batches : own_heads * batches,
                                      warp == 0 ? 64 : Keys, alternate ? own_heads : 0});
        if (threadIdx.x % 32 == 0) pipeline.maps[warp] = own_map;
      }
      if constexpr (NumberStages > 0) {
        if (warp == 3 && stages_numbers && numbers_by_tma) {
          own_map = make_tensor_map<T>(&of_numbers.staging, {mask, keys, mask_rows, mask_heads * mask_batches, 64});
          if (threadIdx.x % 32 == 0) of_numbers.map = own_map;
        }
      }
      asm volatile("bar.sync 1, 128;" ::: "memory");
      if (threadIdx.x == 0)
        for (int i = 0; i < 3; ++i) acquire_tensor_map(pipeline.maps[i]);
    }
    if (!uses_tma) {
      const ElementLoads<T, Head, kPlacesOperands<Layout>> loads{q, k, v, queries, keys, heads, kv_heads, head_sizes};
      producer(scheduler, pipeline, loads, masks, heads, kv_heads);
    } else if (threadIdx.x == 0) {
      producer(scheduler, pipeline, TmaLoads<kPlacesOperands<Layout>>{pipeline.maps, heads, kv_heads}, masks, heads, kv_heads);
    } else if constexpr (NumberStages > 0) {
      if (stages_numbers && threadIdx.x >= 32 && (!numbers_by_tma || threadIdx.x == 32)) {
        if (numbers_by_tma) {
          acquire_tensor_map(of_numbers.map);
          number_producer<T, Keys, true, kQueries, NumberStages, kRowStages>(scheduler, shared, of_numbers, masks);
        } else {
          number_producer<T, Keys, false, kQueries, NumberStages, kRowStages>(scheduler, shared, of_numbers, masks);
        }
      }
    }
  } else if (threadIdx.x < 128 + 2 * scheduler.rows) {
    allocate_registers<kConsumerRegisters>();
    const int consumer = warpgroup - 1, lane = threadIdx.x % 32, warp_row = consumer * 64 + threadIdx.x / 32 % 4 * 16;
    const bool packs = aligned(out) & (head_sizes.value_dim() % 8 == 0);
    PipelineState<Stages> key_state, value_state;
    PipelineState<NumberStages> number_state;
    PipelineState<kRowStages> row_state;
    const ScoreForm<T, Form...> of_scores{form...};
    const bool pairs_of_numbers = (keys % 2 == 0) & (reinterpret_cast<unsigned long long>(mask) % 4 == 0);
    unsigned phase = 0;
    auto release = [&](Barrier* barrier) {
      if (lane == 0) arrive(barrier);
    };

    for (int round = 0; scheduler.has(round); ++round) {
      if (!scheduler.find(round, work)) continue;
      int begin, end;
      masks.range<Keys>(work, scheduler.rows, begin, end);
      const int row = warp_row + lane / 4, query = work.first + row;
      const HeadMask of_head = masks.of(work);
      const TileMask of_rows = of_head.of_tile(work.first, of_head.span(work.first + consumer * 64, 64));
      const Scoring<T, ScoreForm<T, Form...>> scoring{of_scores, of_rows, causal, scale};
      const float factor = scoring.factor();
      const bool adds_numbers = NumberStages > 0 && stages_numbers && masks.adds_numbers(work, scheduler.rows);
      Softmax softmax;
      float result[kValueColumns / 2], scores[Keys / 2], rescale[2];
      unsigned weights[Keys / 16][4], held[kHoldsQueries ? kColumns / 16 : 1][4];
#pragma unroll
      for (int i = 0; i < kValueColumns / 2; ++i) result[i] = 0.0f;

      auto gemm_qk = [&]() {
        const unsigned long long tile = descriptor_k_major(pipeline.keys[key_state.stage]);
        const unsigned long long own = descriptor_k_major(pipeline.queries + consumer * 64 * 128);
#pragma unroll
        for (int d = 0; d < kColumns; d += 16) {
          const unsigned long long columns = tile + ((d / 64 * (Keys * 128) + d % 64 * 2) >> 4);
          if constexpr (kHoldsQueries) {
            wgmma_from_registers<T, Keys, 0>(scores, held[d / 16], columns, d > 0);
          } else {
            wgmma<T, Keys, 0, 0>(scores, own + ((d / 64 * (kQueries * 128) + d % 64 * 2) >> 4), columns, d > 0);
          }
        }
        warpgroup_commit();
      };
      auto gemm_pv = [&]() {
        const unsigned long long tile = descriptor_mn_major(pipeline.values[value_state.stage], Keys * 128);
#pragma unroll
        for (int n = 0; n < Keys; n += 16)
          wgmma_from_registers<T, kValueColumns, 1>(result, weights[n / 16], tile + (n * 128 >> 4), 1);
        warpgroup_commit();
      };
      // Releases the keys of the tile at `start`, and turns its scores into weights.
      auto online_softmax = [&](int start) {
        release(pipeline.keys_empty + key_state.stage);
        key_state.advance();
        const bool is_cut = start + Keys > scoring.seen(work.first + consumer * 64);
        if constexpr (NumberStages > 0) {
          if (adds_numbers && numbers_by_tma) {
            wait(of_numbers.full + number_state.stage, number_state.phase);
            const unsigned tile = shared_address(shared + number_state.stage * Numbers::kTile);
            const unsigned at = tile_offset<kQueries>(warp_row + lane % 16, lane / 16);
            if (of_rows.adds()) scoring.template add_numbers<kQueries>(scores, tile + at);
            __syncwarp();  // all lanes have read
            release(of_numbers.empty + number_state.stage);
            number_state.advance();
          } else if (adds_numbers) {
            wait(of_numbers.full + row_state.stage, row_state.phase);
            const char* const tile = shared + row_state.stage * Numbers::kTileOfRows;
            if (of_rows.adds()) {
              const int of_lane = mask_rows == 1 ? 0 : row, next = mask_rows == 1 ? 0 : row + 8;
              add_number_rows(scoring, scores, number_row<T, Keys>(tile, of_head, work.first, of_lane, start) + lane % 4 * 2,
                              number_row<T, Keys>(tile, of_head, work.first, next, start) + lane % 4 * 2,
                              pairs_of_numbers);
            }
            __syncwarp();
            release(of_numbers.empty + row_state.stage);
            row_state.advance();
          }
        }
        scoring.apply(scores, {query, query + 8}, {of_rows.row(row), of_rows.row(row + 8)}, start,
                      start + lane % 4 * 2, is_cut, adds_numbers && of_rows.adds());
        return softmax.online_softmax(scores, factor, rescale);
      };
      // Waits for the operands of the next products: the keys of the tile after `start`, if any, and the values.
      auto wait_for_tiles = [&](int start, const PipelineState<Stages>& values) {
        if (start + Keys < end) wait(pipeline.keys_full + key_state.stage, key_state.phase);
        wait(pipeline.values_full + values.stage, values.phase);
      };
      auto pack = [&]() {
#pragma unroll
        for (int n = 0; n < Keys / 16; ++n) pack_weights<T>(weights[n], scores + 8 * n);
      };

      if (begin < end) {
        wait(&pipeline.queries_full, phase);
        phase ^= 1;
        if constexpr (kHoldsQueries) {
          const unsigned rows = shared_address(pipeline.queries) + tile_offset<kQueries>(warp_row + lane % 16, lane / 16);
#pragma unroll
          for (int d = 0; d < kColumns; d += 16)
            ldmatrix(held[d / 16], (rows ^ d % 64 * 2) + d / 64 * kQueries * 128);
          release(&pipeline.queries_empty);
        }
        wait(pipeline.keys_full + key_state.stage, key_state.phase);
        warpgroup_arrive();
        gemm_qk();
        warpgroup_wait<0>();
        online_softmax(begin);
        pack();
        wait_for_tiles(begin, value_state);
        for (int start = begin + Keys; start < end; start += Keys) {
          warpgroup_arrive();
          gemm_qk();
          gemm_pv();
          warpgroup_wait<1>();
          const bool grows = online_softmax(start);
          PipelineState<Stages> next = value_state;
          next.advance();
          // Here, and not later, since otherwise the compiler waits for the second product before the softmax.
          wait_for_tiles(start, next);
          warpgroup_wait<0>();
          release(pipeline.values_empty + value_state.stage);
          value_state = next;
          if (grows) {
#pragma unroll
            for (int i = 0; i < kValueColumns / 2; ++i) result[i] *= rescale[i % 4 / 2];
          }
          pack();
        }
        if constexpr (!kHoldsQueries) release(&pipeline.queries_empty);
        warpgroup_arrive();
        gemm_pv();
        warpgroup_wait<0>();
        release(pipeline.values_empty + value_state.stage);
        value_state.advance();
      }
      add_sinks(of_scores, softmax, factor, work.head, lane);
      const Placement<kPlacesResults<Layout>> place{heads, queries, head_sizes.value_dim()};
      T* const own = out + place.of(work.sequence, work.head, 0);
      store_result(head_sizes, own, result, softmax, query, queries, place.step(), lane, packs);
    }
  }
  __syncthreads();  // the consumers are done, and so are all loads
  if (own_map != nullptr && threadIdx.x % 32 == 0) give_back(own_map);
}

}  // namespace cuda_kernels
