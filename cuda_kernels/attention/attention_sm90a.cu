// Attention forward for Hopper (sm_90a), with the operands and the rules of `attention_sm80.cu`.
//
// The idea (FlashAttention-3). A block has 64 queries for each of its consumers, warpgroups that multiply with
// `wgmma`, and goes over the keys tile by tile. Its first warpgroup, the producer, has the tensor memory accelerator
// copy tiles, and gives most of its registers to the consumers. A consumer's scores, weights and result lie in its
// registers: the sums of the first product, rounded, are the left side of the second. Of heads of 128 it holds the
// queries there, too; heads of 64 have three consumers instead of two, which leaves no room for that.
//
// Memory traffic: each query is read and each result written once; keys and values are read once for every kQueries
// queries, mostly from the L2 cache.
//
// The pipeline. Tiles of keys and of values go round in rings of Stages places. Each place has two barriers: "full",
// on which a copy arrives, and "free", on which the consumers do. A consumer has two products under way:
//
//   tensor cores   queries keys 1 | weights 0, values 0 | queries keys 2 | weights 1, values 1 | ...
//   threads                       | softmax 1           |                | softmax 2           | ...
//
// so its softmax runs beside its own second product, and all of it beside the products of the other consumers.
//
// The blocks stay, one on each multiprocessor: each takes one tile of queries after another, and the next one's first
// tiles are copied while the consumers finish. Of causal heads the tiles with the most keys come first, and every
// second round of tiles goes to the blocks in the opposite order, so that all have about as much to do.

#include "../include/attention_placement.cuh"
#include "../include/attention_tiles.cuh"
#include "../include/tensor_map.cuh"
#include "../include/wgmma_registers.cuh"

namespace cuda_kernels {

// A tile of queries of one head of one sequence.
struct Work {
  int first, head, sequence;
};

// Which tiles there are, and who takes them when.
template <int Queries>
struct Schedule {
  int tiles, heads, count;  // tiles of a head; heads of a sequence; tiles of all heads
  bool causal;

  __device__ __forceinline__ Schedule(int queries, int heads_of_one, int sequences, bool is_causal)
      : tiles((queries + Queries - 1) / Queries), heads(heads_of_one), causal(is_causal) {
    count = tiles * heads * sequences;
  }

  __device__ __forceinline__ bool has(int round) const { return round * gridDim.x < count; }

  // This block's work of a round, in which the last blocks may have none.
  __device__ __forceinline__ bool find(int round, Work& work) const {
    const bool turned = causal && round % 2 == 1;
    const int place = round * gridDim.x + (turned ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    if (place >= count) return false;
    // One head's tiles side by side, which read the same keys; or the longest tiles of all heads first.
    const int all_heads = count / tiles;
    const int tile = causal ? tiles - 1 - place / all_heads : place % tiles;
    const int head = causal ? place % all_heads : place / tiles;
    work = {tile * Queries, head % heads, head / heads};
    return true;
  }
};

// What lies in shared memory: tiles, of which each part of 64 columns has the 128-byte swizzle, and their barriers.
template <int Dim, int Keys, int Queries, int Stages>
struct Pipeline {
  char queries[Queries * Dim * 2];
  char keys[Stages][Keys * Dim * 2], values[Stages][Keys * Dim * 2];
  TensorMap staging[3];
  const TensorMap* maps[3];  // of queries, keys and values
  Barrier queries_full, queries_free;
  Barrier keys_full[Stages], keys_free[Stages], values_full[Stages], values_free[Stages];
};

// Copies of tiles by one thread with the tensor memory accelerator. Operands are numbered: queries, keys, values.
template <int Dim>
struct MapCopies {
  const TensorMap* const* maps;

  template <int Rows, int BoxRows>
  __device__ __forceinline__ void copy(char* tile, Barrier* full, int operand, int first, int head) const {
    arrive_and_expect(full, Rows * Dim * 2);
#pragma unroll
    for (int d = 0; d < Dim; d += 64)
#pragma unroll
      for (int row = 0; row < Rows; row += BoxRows)
        copy_box(tile + d * (Rows * 2) + row * 128, maps[operand], full, d, first + row, head);
  }
};

// The same by all threads of the producer, for operands at addresses that a tensor map does not take.
template <class T, int Dim>
struct ElementCopies {
  const T *q, *k, *v;
  int queries, keys;

  template <int Rows, int BoxRows>
  __device__ __forceinline__ void copy(char* tile, Barrier* full, int operand, int first, int head) const {
    const int rows = operand == 0 ? queries : keys;
    const T* const from = (operand == 0 ? q : operand == 1 ? k : v) + (static_cast<long long>(head) * rows + first) * Dim;
#pragma unroll 1
    for (int i = threadIdx.x; i < Rows * Dim; i += 128) {
      const int row = i / Dim, unit = i % Dim / 8;
      T* const to = reinterpret_cast<T*>(tile + tile_offset<Rows>(row, unit));
      to[i % 8] = first + row < rows ? from[i] : static_cast<T>(0.0f);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    arrive(full);
  }
};

// The producer's work: the tiles of queries, keys and values in the order in which they are used.
template <int Dim, int Keys, int Queries, int Stages, class Copies>
__device__ __forceinline__ void produce(const Schedule<Queries>& schedule,
                                        Pipeline<Dim, Keys, Queries, Stages>& pipeline,
                                        const Copies& copies,
                                        int heads,
                                        int kv_heads,
                                        int keys) {
  Ring<Stages> key_place, value_place;
  unsigned parity = 0;
  Work work;
  for (int round = 0; schedule.has(round); ++round) {
    if (!schedule.find(round, work)) continue;
    const int end = schedule.causal ? min(keys, work.first + Queries) : keys;
    if (end <= 0) continue;
    const int head = work.sequence * heads + work.head;
    const int kv_head = work.sequence * kv_heads + work.head * kv_heads / heads;
    auto copy_keys = [&](int start) {
      wait(pipeline.keys_free + key_place.stage, key_place.parity ^ 1);
      copies.template copy<Keys, Keys>(
          pipeline.keys[key_place.stage], pipeline.keys_full + key_place.stage, 1, start, kv_head);
      key_place.advance();
    };
    wait(&pipeline.queries_free, parity ^ 1);
    parity ^= 1;
    copies.template copy<Queries, 64>(pipeline.queries, &pipeline.queries_full, 0, work.first, head);
    copy_keys(0);
    for (int start = 0; start < end; start += Keys) {
      if (start + Keys < end) copy_keys(start + Keys);
      wait(pipeline.values_free + value_place.stage, value_place.parity ^ 1);
      copies.template copy<Keys, Keys>(
          pipeline.values[value_place.stage], pipeline.values_full + value_place.stage, 2, start, kv_head);
      value_place.advance();
    }
  }
}

template <class T, int Dim, int Keys, int Consumers, int Stages, bool ByPosition = false>
__global__ void __launch_bounds__(128 * (Consumers + 1), 1) attention_sm90a(const T* __restrict__ q,
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
                                                                            bool mask_is_bool) {
  constexpr int kQueries = 64 * Consumers;
  constexpr bool kHoldsQueries = Dim == 128;
  // 65536 registers are there for all threads.
  static_assert(Consumers == 2 || Consumers == 3, "to which the numbers of registers belong");
  constexpr int kProducerRegisters = Consumers == 2 ? 40 : 32, kConsumerRegisters = Consumers == 2 ? 232 : 160;

  extern __shared__ __align__(1024) char shared[];
  Pipeline<Dim, Keys, kQueries, Stages>& pipeline = *reinterpret_cast<Pipeline<Dim, Keys, kQueries, Stages>*>(shared);

  const bool by_maps = aligned(q, k, v);  // else the producer's threads copy, element by element
  if (threadIdx.x == 0) {
    const int copying = by_maps ? 1 : 128, consuming = 4 * Consumers;  // a thread, all; warps
    initialise(&pipeline.queries_full, copying);
    initialise(&pipeline.queries_free, consuming);
    for (int i = 0; i < Stages; ++i) {
      initialise(pipeline.keys_full + i, copying);
      initialise(pipeline.values_full + i, copying);
      initialise(pipeline.keys_free + i, consuming);
      initialise(pipeline.values_free + i, consuming);
    }
    publish_barriers();
  }
  __syncthreads();

  const Schedule<kQueries> schedule(queries, heads, batches, causal);
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  Work work;
  const TensorMap* own_map = nullptr;  // that this warp made

  if (warpgroup == 0) {
    release_registers<kProducerRegisters>();
    if (by_maps) {
      const int warp = threadIdx.x / 32;
      if (warp < 3) {
        const T* const operand = warp == 0 ? q : warp == 1 ? k : v;
        const int rows = max(1, warp == 0 ? queries : keys), all_heads = (warp == 0 ? heads : kv_heads) * batches;
        own_map = make_tensor_map<T>(pipeline.staging + warp, {operand, Dim, rows, all_heads, warp == 0 ? 64 : Keys});
        if (threadIdx.x % 32 == 0) pipeline.maps[warp] = own_map;
      }
      asm volatile("bar.sync 1, 128;" ::: "memory");
      if (threadIdx.x == 0)
        for (int i = 0; i < 3; ++i) acquire_tensor_map(pipeline.maps[i]);
    }
    if (!by_maps) {
      produce(schedule, pipeline, ElementCopies<T, Dim>{q, k, v, queries, keys}, heads, kv_heads, keys);
    } else if (threadIdx.x == 0) {
      produce(schedule, pipeline, MapCopies<Dim>{pipeline.maps}, heads, kv_heads, keys);
    }
  } else {
    take_registers<kConsumerRegisters>();
    const int consumer = warpgroup - 1, lane = threadIdx.x % 32, warp_row = consumer * 64 + threadIdx.x / 32 % 4 * 16;
    const bool packs = aligned(out);
    Ring<Stages> key_place, value_place;
    unsigned parity = 0;
    auto let_go = [&](Barrier* barrier) {
      if (lane == 0) arrive(barrier);
    };

    for (int round = 0; schedule.has(round); ++round) {
      if (!schedule.find(round, work)) continue;
      const int end = causal ? min(keys, work.first + kQueries) : keys;
      const int query = work.first + warp_row + lane / 4;
      const Scoring<T> scoring{mask, mask_is_bool, causal, mask_rows, keys, work.sequence, scale};
      const float factor = scoring.factor();
      Softmax softmax;
      float result[Dim / 2], scores[Keys / 2], rescale[2];
      unsigned weights[Keys / 16][4], held[kHoldsQueries ? Dim / 16 : 1][4];
#pragma unroll
      for (int i = 0; i < Dim / 2; ++i) result[i] = 0.0f;

      auto multiply_keys = [&]() {
        const unsigned long long tile = tile_along_k(pipeline.keys[key_place.stage]);
        const unsigned long long own = tile_along_k(pipeline.queries + consumer * 64 * 128);
#pragma unroll
        for (int d = 0; d < Dim; d += 16) {
          const unsigned long long columns = tile + ((d / 64 * (Keys * 128) + d % 64 * 2) >> 4);
          if constexpr (kHoldsQueries) {
            multiply_registers<T, Keys, 0>(scores, held[d / 16], columns, d > 0);
          } else {
            multiply<T, Keys, 0, 0>(scores, own + ((d / 64 * (kQueries * 128) + d % 64 * 2) >> 4), columns, d > 0);
          }
        }
        warpgroup_commit();
      };
      auto multiply_values = [&]() {
        const unsigned long long tile = tile_across_k(pipeline.values[value_place.stage], Keys * 128);
#pragma unroll
        for (int n = 0; n < Keys; n += 16)
          multiply_registers<T, Dim, 1>(result, weights[n / 16], tile + (n * 128 >> 4), 1);
        warpgroup_commit();
      };
      // Makes weights of the scores of the tile at `start`, whose keys are not needed any more.
      auto weigh = [&](int start) {
        let_go(pipeline.keys_free + key_place.stage);
        key_place.advance();
        scoring.apply(scores, {query, query + 8}, queries, start + lane % 4 * 2,
                      start + Keys > scoring.seen(work.first + consumer * 64));
        return softmax.weigh(scores, factor, rescale);
      };
      // Waits for what the next products take: the keys of the tile after `start`, if there is one, and the values.
      auto wait_for_tiles = [&](int start, const Ring<Stages>& values) {
        if (start + Keys < end) wait(pipeline.keys_full + key_place.stage, key_place.parity);
        wait(pipeline.values_full + values.stage, values.parity);
      };
      auto pack = [&]() {
#pragma unroll
        for (int n = 0; n < Keys / 16; ++n) pack_weights<T>(weights[n], scores + 8 * n);
      };

      if (end > 0) {
        wait(&pipeline.queries_full, parity);
        parity ^= 1;
        if constexpr (kHoldsQueries) {
          const unsigned rows = shared_address(pipeline.queries) + tile_offset<kQueries>(warp_row + lane % 16, lane / 16);
#pragma unroll
          for (int d = 0; d < Dim; d += 16)
            load_matrices(held[d / 16], (rows ^ d % 64 * 2) + d / 64 * kQueries * 128);
          let_go(&pipeline.queries_free);
        }
        wait(pipeline.keys_full + key_place.stage, key_place.parity);
        warpgroup_arrive();
        multiply_keys();
        warpgroup_wait<0>();
        weigh(0);
        pack();
        wait_for_tiles(0, value_place);
        for (int start = Keys; start < end; start += Keys) {
          warpgroup_arrive();
          multiply_keys();
          multiply_values();
          warpgroup_wait<1>();
          const bool grows = weigh(start);
          Ring<Stages> next = value_place;
          next.advance();
          // Here, and not later, also because the compiler would else wait for the second product before the softmax.
          wait_for_tiles(start, next);
          warpgroup_wait<0>();
          let_go(pipeline.values_free + value_place.stage);
          value_place = next;
          if (grows) {
#pragma unroll
            for (int i = 0; i < Dim / 2; ++i) result[i] *= rescale[i % 4 / 2];
          }
          pack();
        }
        if constexpr (!kHoldsQueries) let_go(&pipeline.queries_free);
        warpgroup_arrive();
        multiply_values();
        warpgroup_wait<0>();
        let_go(pipeline.values_free + value_place.stage);
        value_place.advance();
      }
      const Placement<Dim, ByPosition> place{heads, queries};
      T* const own = out + place.of(work.sequence, work.head, 0);
      store_result(own, result, softmax, query, queries, place.step(), lane, packs);
    }
  }
  __syncthreads();  // the consumers are done, and so are all copies
  if (own_map != nullptr && threadIdx.x % 32 == 0) give_back(own_map);
}

}  // namespace cuda_kernels
