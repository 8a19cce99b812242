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

#include "../include/epilogue_sm90a.cuh"
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
