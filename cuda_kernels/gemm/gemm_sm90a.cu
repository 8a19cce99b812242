// C = act(A B + bias + residual) as in gemm_sm80.cu, with what sm_90a adds: warpgroup MMA (wgmma) and bulk tensor
// copies (TMA). Persistent and warp-specialised.
//
// A block is persistent: it stays on its multiprocessor and computes output tiles of TileM x TileN, which a static tile
// scheduler gives it. Its warps have roles:
//
//   global memory                      shared memory                              registers
//    A, B  --- one thread, TMA --->  Stages of the pipeline: 64 of k of a tile
//              waits for `empty`     | A 128 x 64 | B 64 x TileN |  --- wgmma ---> 2 consumer warpgroups, each with
//              arrives on `full`        full[i], empty[i]         wait for `full`  accumulators of 64 x TileN, f32
//    C  <----- TMA store ----------  16 rows x 128 bytes, twice a warp  <-- stmatrix -- epilogue: bias, residual,
//                                                                                     activation
//
// The producer runs ahead by up to Stages steps of the mainloop, across tiles too: while the consumers are in the
// epilogue, the first stages of the next tile are filled. Two wgmma groups are in flight in each warpgroup; a stage is
// released when the group after its own has been issued.
//
// Schedules. Cooperative: both consumer warpgroups compute one tile, half of its rows each. Ping-pong: each computes a
// tile of its own, so one is in its epilogue while the other is in its mainloop. Ping-pong keeps the accumulators of a
// whole tile in one warpgroup, which limits it to 128 x 192.
//
//   cooperative   0  mainloop 0, 0 | epilogue | mainloop 2, 0 | ..      ping-pong   0  mainloop 0 | epilogue |   mainloop 2 |
//                 1  mainloop 0, 1 | epilogue | mainloop 2, 1 | ..                  1             | mainloop 1 | epilogue |
//
// The two blocks of a cluster compute tiles one above the other. Each loads its own rows of A, and half of the columns
// of B, which TMA multicasts to both: 32 KiB a step instead of 48 from the L2 cache. So `empty` waits for the consumers
// of both blocks.
//
// Memory traffic: (TileM + TileN / Cluster) * 64 * 2 bytes from the L2 cache for 2 * TileM * TileN * 64 operations, 128
// operations a byte at 128 x 256; a wgmma of 64 x 256 x 16 takes 128 cycles and reads 10 KiB of shared memory.
//
// Where rows do not begin at multiples of 16 bytes, TMA cannot load them. The producer warpgroup then loads the same
// stages element by element, which is correct and slow.

#include "../include/gemm_sm90a.cuh"

namespace cuda_kernels {

constexpr int kConsumers = 2;                         // warpgroups
constexpr int kGemmThreads = 128 * (1 + kConsumers);  // the producer warpgroup first
constexpr int kSwizzleRows = 8;                       // rows of tiles in a band of the tile scheduler's swizzle

// Registers of a thread, for setmaxnreg. A block has 3 * 168 at launch; a ping-pong consumer, with a whole tile, needs
// more of them.
template <int TileWarpgroups>
constexpr int kProducerRegisters = TileWarpgroups == 1 ? 40 : 56;
template <int TileWarpgroups>
constexpr int kConsumerRegisters = TileWarpgroups == 1 ? 232 : 224;

template <class T>
__device__ __forceinline__ unsigned pack_two(float low, float high) {
  const T both[2] = {static_cast<T>(low), static_cast<T>(high)};
  unsigned bits;
  memcpy(&bits, both, sizeof(bits));
  return bits;
}

// A warp's shared memory for the epilogue, which stores 16 rows of C at a time, 128 bytes of each: two boxes, so that a
// TMA store reads one while the other is written. They have TMA's 128-byte swizzle, which puts the 16 bytes `chunk` of a
// row at `place`: the fragments of 8 rows hit every bank once.
struct EpilogueStaging {
  unsigned char boxes[2][16 * 128];

  static __device__ __forceinline__ int place(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }
};

// Columns of a box.
template <class Out>
constexpr int kBoxColumns = 128 / sizeof(Out);

// A warp's tile of C: its first row and column, the matrix of the batch, and that matrix's size.
struct WarpTile {
  int row, column, matrix, m, n;
};

// Calls `work` for each group of `Count` adjacent elements of a box that this lane has, in the first `width` columns of the
// box and within C: with their offset in C, and in the box.
template <class Out, int Count, int Unroll, class Work>
__device__ __forceinline__ void each_of_box(const WarpTile& part, int first, int width, Work&& work) {
  constexpr int pieces = 128 / sizeof(Out) / Count;  // of a row
#pragma unroll Unroll
  for (int i = threadIdx.x % 32; i < 16 * pieces; i += 32) {
    const int row = i / pieces, at = i % pieces * Count;
    if (part.row + row < part.m && first + at < part.n && at < width) {
      const long long line = static_cast<long long>(part.matrix) * part.m + part.row + row;
      work(line * part.n + first + at, EpilogueStaging::place(row, at / kPack<Out>) + at % kPack<Out> * sizeof(Out));
    }
  }
}

// The residual of a box on its way: 16 bytes in each of four rows of a lane.
template <class Out>
struct ResidualAhead {
  static constexpr int kPieces = 4;
  uint4 pieces[kPieces];

  // The columns from `first` on, up to `width` of them, of whole 16 bytes.
  __device__ __forceinline__ void load(const Out* __restrict__ residual, const WarpTile& part, int first, int width) {
    const int lane = threadIdx.x % 32, at = lane % 8 * kPack<Out>;
    const long long line = static_cast<long long>(part.matrix) * part.m + part.row + lane / 8;
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      if (part.row + lane / 8 + 4 * i < part.m && first + at < part.n && at < width)
        pieces[i] = load_bits(residual + (line + 4 * i) * part.n + first + at);
  }

  __device__ __forceinline__ void store(unsigned char* box) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      *reinterpret_cast<uint4*>(box + EpilogueStaging::place(lane / 8 + 4 * i, lane % 8)) = pieces[i];
  }
};

// Adds the residual, which is in a box, to the accumulators of it, or whatever the activation makes of both.
template <class Out, class Activation>
__device__ __forceinline__ void add_residual(const Activation& activation, float* accumulators, const unsigned char* box,
                                             const WarpTile& part, int first, int width) {
  __syncwarp();
  const int lane = threadIdx.x % 32, column = first + lane % 4 * 2, last = part.n - 1;
#pragma unroll
  for (int i = 0; i < kPack<Out> * 2; ++i) {
    if (i / 2 * 8 >= width) break;
    const int byte = (i / 2 * 8 + lane % 4 * 2) * sizeof(Out);
    Out both[2];
    memcpy(both, box + EpilogueStaging::place(lane / 4 + i % 2 * 8, byte / 16) + byte % 16, sizeof(both));
    float& low = accumulators[2 * i];
    float& high = accumulators[2 * i + 1];
    low = activation.joined(low, static_cast<float>(both[0]), min(column + i / 2 * 8, last));
    high = activation.joined(high, static_cast<float>(both[1]), min(column + 1 + i / 2 * 8, last));
  }
  __syncwarp();
}

// Stores the fragments of a box to shared memory.
template <class Out>
__device__ __forceinline__ void store_box(const float* accumulators, unsigned char* box, int width) {
  const int lane = threadIdx.x % 32;
  if constexpr (sizeof(Out) == 2) {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {  // blocks of 8 columns, two at a time
      if (i * 8 >= width) break;
      const float* const x = accumulators + 4 * i;
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       shared_address(box) + EpilogueStaging::place(lane % 16, i + lane / 16)),
                   "r"(pack_two<Out>(x[0], x[1])), "r"(pack_two<Out>(x[2], x[3])), "r"(pack_two<Out>(x[4], x[5])),
                   "r"(pack_two<Out>(x[6], x[7]))
                   : "memory");
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {  // blocks of 8 columns, the upper and the lower 8 rows
      if (i / 2 * 8 >= width) break;
      const int byte = (i / 2 * 8 + lane % 4 * 2) * 4;
      *reinterpret_cast<float2*>(box + EpilogueStaging::place(lane / 4 + i % 2 * 8, byte / 16) + byte % 16) = {
          accumulators[2 * i], accumulators[2 * i + 1]};
    }
  }
}

// The epilogue of a warp's 16 rows of a tile of `TileN` columns. TMA stores whole boxes from shared memory while the warp
// goes on. The threads store the rest of a row, and everything where rows of C are not whole 16 bytes (`map` is null). With
// LoadsAhead the residual of a box is loaded while the box before is worked on, which takes 16 registers; `ahead` has that of
// the first. A gate of 2000 x 8192 x 2048 in bf16 takes 114 us on an H200, and 131 us if it is loaded when it is needed. Rows
// that the producer prefetched to the L2 cache in the meantime made it slower.
template <class In, class Out, int TileN, bool LoadsAhead, class Activation>
__device__ __forceinline__ void epilogue(const Activation& activation, float (&accumulators)[TileN / 2],
                                         EpilogueStaging& staging, ResidualAhead<Out>& ahead, const TensorMap* map,
                                         const In* __restrict__ bias, const Out* __restrict__ residual, Out* __restrict__ c, const WarpTile& part) {
  constexpr int columns = kBoxColumns<Out>;
  const int lane = threadIdx.x % 32;
  if (bias != nullptr) {
#pragma unroll
    for (int i = 0; i < TileN / 8; ++i) {
      const int at = part.column + i * 8 + lane % 4 * 2;
      const float low = at < part.n ? static_cast<float>(bias[at]) : 0.0f;
      const float high = at + 1 < part.n ? static_cast<float>(bias[at + 1]) : 0.0f;
      accumulators[4 * i] += low, accumulators[4 * i + 1] += high;
      accumulators[4 * i + 2] += low, accumulators[4 * i + 3] += high;
    }
  }
#pragma unroll
  for (int i = 0; i < (TileN + columns - 1) / columns; ++i) {
    const int first = part.column + i * columns, width = min(columns, TileN - i * columns);
    if (first >= part.n) break;
    unsigned char* const box = staging.boxes[i % 2];
    float* const x = &accumulators[i * columns / 2];
    // Wait until TMA has read this box, last used two boxes ago. At the start of a tile it may be the most recent one,
    // since a tile can have an odd number of boxes.
    if (i == 0) {
      tma_store_wait_read<0>();
    } else {
      tma_store_wait_read<1>();
    }
    __syncwarp();
    if (residual != nullptr) {
      if (map != nullptr) {
        if constexpr (LoadsAhead) {
          ahead.store(box);
          if ((i + 1) * columns < TileN)
            ahead.load(residual, part, first + columns, min(columns, TileN - (i + 1) * columns));
        } else {
          each_of_box<Out, kPack<Out>, 2>(part, first, width, [&](long long at, int place) {
            *reinterpret_cast<uint4*>(box + place) = load_bits(residual + at);
          });
        }
      } else {
        each_of_box<Out, 1, 1>(part, first, width,
                               [&](long long at, int place) { *reinterpret_cast<Out*>(box + place) = residual[at]; });
      }
      add_residual<Out>(activation, x, box, part, first, width);
    }
#pragma unroll
    for (int j = 0; j < columns / 2; ++j)
      if (j < width / 2)
        x[j] = activation.template of<Out>(x[j], min(first + j / 4 * 8 + lane % 4 * 2 + j % 2, part.n - 1));
    store_box<Out>(x, box, width);
    if (map != nullptr && width == columns) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncwarp();
      if (lane == 0) tma_store(map, box, first, part.row, part.matrix);
      continue;
    }
    __syncwarp();
    if (map != nullptr) {
      each_of_box<Out, kPack<Out>, 2>(part, first, width, [&](long long at, int place) {
        *reinterpret_cast<uint4*>(c + at) = *reinterpret_cast<const uint4*>(box + place);
      });
    } else {
      each_of_box<Out, 1, 1>(part, first, width, [&](long long at, int place) {
        c[at] = *reinterpret_cast<const Out*>(box + place);
      });
    }
    __syncwarp();
  }
}

// The order barrier of the ping-pong schedule: a consumer waits for its mainloop until the other has arrived.
__device__ __forceinline__ void order_wait(int order) {
  if (order == 0) {
    asm volatile("bar.sync 1, 256;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 256;" ::: "memory");
  }
}

__device__ __forceinline__ void order_arrive(int order) {
  if (order == 0) {
    asm volatile("bar.arrive 1, 256;" ::: "memory");
  } else {
    asm volatile("bar.arrive 2, 256;" ::: "memory");
  }
}

// The static persistent tile scheduler. Tiles of C come in bands of kSwizzleRows rows, from left to right (threadblock
// swizzle), so that blocks that run at the same time share rows of A and columns of B.
template <int TileM, int TileN, int Cluster>
struct TileScheduler {
  int rows, columns, count;

  __device__ __forceinline__ TileScheduler(int batch, int m, int n) {
    rows = (m + TileM * Cluster - 1) / (TileM * Cluster);
    columns = (n + TileN - 1) / TileN;
    count = batch * rows * columns;
  }

  __device__ __forceinline__ void place(int index, unsigned block, int& batch, int& row, int& column) const {
    batch = index / (rows * columns);
    index %= rows * columns;
    const int first = index / (kSwizzleRows * columns) * kSwizzleRows;
    const int height = min(kSwizzleRows, rows - first);
    index -= first * columns;
    column = index / height * TileN;
    row = ((first + index % height) * Cluster + block) * TileM;
  }
};

template <int TileM, int TileN, int Stages, int Cluster, int TileWarpgroups>
struct SharedStorage {
  Pipeline<TileM, TileN, Stages, TileWarpgroups> pipeline;
  EpilogueStaging staging[4 * kConsumers];
  TensorMap map_staging;
  const TensorMap* map;  // of C, or null
  TileScheduler<TileM, TileN, Cluster> tiles;
};

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int Stages, int Cluster,
          int TileWarpgroups, class... Numbers>
__global__ void CUDA_KERNELS_CLUSTER(Cluster) __launch_bounds__(kGemmThreads, 1)
    gemm_sm90a(const In* __restrict__ a,
               const In* __restrict__ b,
               const In* __restrict__ bias,
               const Out* __restrict__ residual,
               Out* __restrict__ c,
               int batch,
               int m,
               int n,
               int k,
               Numbers... numbers) {
  static_assert((TileWarpgroups == kConsumers || TileWarpgroups == 1) && TileM % (64 * TileWarpgroups) == 0,
                "cooperative or ping-pong");
  static_assert(IsWeights || TileN / Cluster % 64 == 0, "a block copies whole parts of 64 columns");
  auto& memory = dynamic_shared_memory<SharedStorage<TileM, TileN, Stages, Cluster, TileWarpgroups>>();
  auto& pipeline = memory.pipeline;
  const unsigned block = Cluster > 1 ? cluster_rank() : 0;
  const bool uses_tma = pipeline.template can_use_tma<In, IsWeights>(a, b, n, k);
  if (threadIdx.x == 96) pipeline.template initialise<Cluster, 128>(uses_tma, m);
  if (threadIdx.x == 128) memory.tiles = TileScheduler<TileM, TileN, Cluster>(batch, m, n);
  if (threadIdx.x / 32 < 2 && uses_tma) {
    pipeline.template make_maps<In, IsWeights, Cluster>(threadIdx.x / 32, a, b, batch, m, n, k);
  } else if (threadIdx.x / 32 == 2) {
    const TensorMap* map = nullptr;
    if (n % kPack<Out> == 0 && aligned(c, residual)) map = make_tensor_map<Out>(&memory.map_staging, {c, n, m, batch, 16});
    if (threadIdx.x == 64) memory.map = map;
  }
  __syncthreads();
  if constexpr (Cluster > 1) cluster_meet();

  const auto& tiles = memory.tiles;
  const int first = blockIdx.x / Cluster, stride = gridDim.x / Cluster;
  const int steps = max(1, (k + kStageK<In> - 1) / kStageK<In>);  // one of zeros, if k is 0
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);  // known to be uniform in the warp
  PipelineState<Stages> state;
  int matrix, row, column;

  if (warp < 4) {
    deallocate_registers<kProducerRegisters<TileWarpgroups>>();
    if (!uses_tma) {
      for (int index = first; index < tiles.count; index += stride) {
        tiles.place(index, block, matrix, row, column);
        for (int i = 0; i < steps; ++i, state.advance()) {
          wait(&pipeline.empty[state.stage], state.phase ^ 1);
          pipeline.template load_stage<In, IsWeights, 128>(
              threadIdx.x, state.stage, a + static_cast<long long>(matrix) * m * k,
              b + static_cast<long long>(matrix) * n * k, m, n, k, row, column, i * kStageK<In>);
        }
      }
    } else if (threadIdx.x == 0) {
      const auto source = pipeline.source();
      for (int index = first; index < tiles.count; index += stride) {
        tiles.place(index, block, matrix, row, column);
        for (int i = 0; i < steps; ++i, state.advance()) {
          wait(&pipeline.empty[state.stage], state.phase ^ 1);
          pipeline.template tma_load_stage<IsWeights, Cluster>(source, state.stage, matrix, row, column, i * kStageK<In>,
                                                               block);
        }
      }
    }
  } else {
    allocate_registers<kConsumerRegisters<TileWarpgroups>>();
    constexpr int groups = kConsumers / TileWarpgroups, parts = TileM / 64 / TileWarpgroups;  // of 64 rows, of a warpgroup
    constexpr bool loads_ahead = parts == 1;  // else there are too few registers, and the other consumer has what is to do
    const int group = warp / 4 - 1, thread = threadIdx.x % 128;
    const int order = TileWarpgroups == 1 ? group : 0, part = TileWarpgroups == 1 ? 0 : group;
    const TensorMap* const map = memory.map;
    const Activation activation{numbers...};
    if (map != nullptr) acquire_tensor_map(map);
    const auto release = [&](int stage) {
      if constexpr (Cluster > 1) {
        if (thread < Cluster) arrive_at(&pipeline.empty[stage], thread);
      } else {
        if (thread == 0) arrive(&pipeline.empty[stage]);
      }
    };
    state.advance(order * steps);
    for (int index = first + order * stride; index < tiles.count; index += groups * stride) {
      float accumulators[parts][TileN / 2];
      int last = 0;
      // A phase bit only distinguishes a phase from the one before, so neither waits for a tile before the last has arrived.
      if (groups > 1 && index > first) order_wait(order);
      for (int i = 0; i < steps; ++i, state.advance()) {
        wait(&pipeline.full[state.stage], state.phase);
        pipeline.template wgmma_stage<In, IsWeights, parts>(accumulators, state.stage, part, i > 0);
        warpgroup_wait<1>();
        if (i > 0) release(last);
        last = state.stage;
      }
      if (groups > 1 && index + stride < tiles.count) order_arrive(1 - order);
      state.advance((groups - 1) * steps);
      tiles.place(index, block, matrix, row, column);
      [[maybe_unused]] ResidualAhead<Out> ahead;
      if (loads_ahead && residual != nullptr && map != nullptr)
        ahead.load(residual, {row + part * 64 + warp % 4 * 16, column, matrix, m, n}, column, min(kBoxColumns<Out>, TileN));
      warpgroup_wait<0>();
      release(last);
#pragma unroll
      for (int i = 0; i < parts; ++i) {
        const WarpTile rows{row + (part + i) * 64 + warp % 4 * 16, column, matrix, m, n};
        epilogue<In, Out, TileN, loads_ahead>(activation, accumulators[i], memory.staging[warp - 4], ahead, map, bias,
                                              residual, c, rows);
      }
    }
    // Keep shared memory until TMA has read it, and a claimed map's slot until everything is stored.
    if (map != nullptr && is_claimed(map)) {
      tma_store_wait();
    } else {
      tma_store_wait_read<0>();
    }
  }
  // A block must not exit while others may still arrive at its barriers, nor return maps while they are in use.
  if constexpr (Cluster > 1) {
    cluster_meet();
  } else {
    __syncthreads();
  }
  pipeline.give_back_maps();
  if (threadIdx.x == 2 && memory.map != nullptr) give_back(memory.map);
}

}  // namespace cuda_kernels
