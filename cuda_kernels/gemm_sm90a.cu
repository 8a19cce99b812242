// C = act(A B + bias + residual) as in gemm_sm80.cu, with what sm_90a has of its own: products of warpgroups
// (wgmma) and copies by tensor maps (TMA).
//
// A block stays on its multiprocessor and computes tiles of 128 x TileN, one after another. Its warps have roles:
//
//   global memory                      shared memory                              registers
//    A, B  --- one thread, TMA --->  ring of Stages: 64 of k of a tile
//              waits for `empty`     | A 128 x 64 | B 64 x TileN |  --- wgmma ---> 2 warpgroups of consumers, each
//              arrives on `full`        full[i], empty[i]         wait for `full`  64 x TileN sums in f32
//    C  <----- TMA ----------------  16 rows x 128 bytes, twice a warp  <-- stmatrix -- bias, residual, activation
//
// The producer runs ahead by as many stages as there are, over the ends of tiles, too: while the consumers write a
// tile, the first steps of the next arrive. Two wgmma groups are under way in each warpgroup; a stage is given back
// when the group after its own has begun.
//
// Two blocks of a cluster compute tiles one above the other. Each brings its own rows of A and half of the columns
// of B, which the TMA writes into the shared memory of both: 32 KiB a step in place of 48 from the L2 cache. So
// `empty` waits for the consumers of both.
//
// Memory traffic: from the L2 cache (128 + TileN / Blocks) * 64 * 2 bytes for 2 * 128 * TileN * 64 operations, 128
// of them a byte at TileN 256; a wgmma of 64 x 256 x 16 takes 128 cycles and reads 10 KiB of shared memory.
//
// Operands whose rows do not begin at multiples of 16 bytes are loaded by the producers' threads, element by element,
// into the same places. It is right, and slow.

#include "include/gemm_sm90a.cuh"

namespace cuda_kernels {

constexpr int kTileM = 128, kConsumers = kTileM / 64;  // rows of a tile, and warpgroups that compute it
constexpr int kGemmThreads = 128 * (1 + kConsumers);   // a warpgroup of producers first
constexpr int kBand = 8;                              // rows of tiles that are computed side by side
constexpr int kProducerRegisters = 56, kConsumerRegisters = 224;  // 65536 / 128 = 512 >= 56 + 2 * 224

template <class T>
__device__ __forceinline__ unsigned pack_two(float low, float high) {
  const T both[2] = {static_cast<T>(low), static_cast<T>(high)};
  unsigned bits;
  memcpy(&bits, both, sizeof(bits));
  return bits;
}

// 16 rows of C that a warp computes, and its shared memory for them: 128 bytes of each row at a time, twice, so
// that the copy engine takes one while the other is written. They have the swizzle of the engine, by which the 16
// bytes `chunk` of a row lie at `place`: so the fragments of 8 rows use every bank once.
struct Staging {
  unsigned char boxes[2][16 * 128];

  static __device__ __forceinline__ int place(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }
};

// A warp's part of C: its first row and column, and the ends of the matrix, which is the `matrix`-th of the batch.
struct Part {
  int row, column, matrix, m, n;
};

// Calls `work` with `Count` neighbours of a box at a time that are this lane's and inside of C: where they are in C,
// and in the box.
template <class Out, int Count, int Unroll, class Work>
__device__ __forceinline__ void each_of_box(const Part& part, int first, Work&& work) {
  constexpr int pieces = 128 / sizeof(Out) / Count;  // of a row
#pragma unroll Unroll
  for (int i = threadIdx.x % 32; i < 16 * pieces; i += 32) {
    const int row = i / pieces, at = i % pieces * Count;
    if (part.row + row < part.m && first + at < part.n) {
      const long long line = static_cast<long long>(part.matrix) * part.m + part.row + row;
      work(line * part.n + first + at, Staging::place(row, at / kPack<Out>) + at % kPack<Out> * sizeof(Out));
    }
  }
}

// Adds the residual to the sums of a box.
template <class Out>
__device__ __forceinline__ void add_residual(float* sums, unsigned char* box, const Out* __restrict__ residual,
                                             const Part& part, int first, bool packs) {
  if (packs) {
    each_of_box<Out, kPack<Out>, 4>(part, first, [&](long long at, int place) {
      *reinterpret_cast<uint4*>(box + place) = load_bits(residual + at);
    });
  } else {
    each_of_box<Out, 1, 1>(part, first,
                           [&](long long at, int place) { *reinterpret_cast<Out*>(box + place) = residual[at]; });
  }
  __syncwarp();
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kPack<Out> * 2; ++i) {
    const int byte = (i / 2 * 8 + lane % 4 * 2) * sizeof(Out);
    Out both[2];
    memcpy(both, box + Staging::place(lane / 4 + i % 2 * 8, byte / 16) + byte % 16, sizeof(both));
    sums[2 * i] += static_cast<float>(both[0]), sums[2 * i + 1] += static_cast<float>(both[1]);
  }
  __syncwarp();
}

// The fragments of a box to shared memory.
template <class Out>
__device__ __forceinline__ void store_box(const float* sums, unsigned char* box) {
  const int lane = threadIdx.x % 32;
  if constexpr (sizeof(Out) == 2) {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {  // blocks of 8 columns, two at a time
      const float* const x = sums + 4 * i;
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       shared_address(box) + Staging::place(lane % 16, i + lane / 16)),
                   "r"(pack_two<Out>(x[0], x[1])), "r"(pack_two<Out>(x[2], x[3])), "r"(pack_two<Out>(x[4], x[5])),
                   "r"(pack_two<Out>(x[6], x[7]))
                   : "memory");
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {  // blocks of 8 columns, the upper and the lower 8 rows
      const int byte = (i / 2 * 8 + lane % 4 * 2) * 4;
      *reinterpret_cast<float2*>(box + Staging::place(lane / 4 + i % 2 * 8, byte / 16) + byte % 16) = {
          sums[2 * i], sums[2 * i + 1]};
    }
  }
}

// Writes a warp's 16 rows of a tile of `TileN` columns. The copy engine takes whole 16 bytes from shared memory
// while the warp goes on; where C is not made of such (`map` is null), the threads do.
template <class In, class Out, class Activation, int TileN>
__device__ __forceinline__ void write_rows(float (&sums)[TileN / 2], Staging& staging, const TensorMap* map,
                                           const In* __restrict__ bias, const Out* __restrict__ residual,
                                           Out* __restrict__ c, const Part& part) {
  constexpr int columns = 128 / sizeof(Out);  // of a box
  const int lane = threadIdx.x % 32;
  if (bias != nullptr) {
#pragma unroll
    for (int i = 0; i < TileN / 8; ++i) {
      const int at = part.column + i * 8 + lane % 4 * 2;
      const float low = at < part.n ? static_cast<float>(bias[at]) : 0.0f;
      const float high = at + 1 < part.n ? static_cast<float>(bias[at + 1]) : 0.0f;
      sums[4 * i] += low, sums[4 * i + 1] += high, sums[4 * i + 2] += low, sums[4 * i + 3] += high;
    }
  }
#pragma unroll
  for (int i = 0; i < TileN / columns; ++i) {
    const int first = part.column + i * columns;
    if (first >= part.n) break;
    unsigned char* const box = staging.boxes[i % 2];
    float* const x = &sums[i * columns / 2];
    // The copy engine has read this box, used two boxes ago; at the beginning of a tile it may be the latest of all, since a
    // tile can have an odd number of them.
    if (i == 0) {
      wait_for_boxes<0>();
    } else {
      wait_for_boxes<1>();
    }
    __syncwarp();
    if (residual != nullptr) add_residual(x, box, residual, part, first, map != nullptr);
#pragma unroll
    for (int j = 0; j < columns / 2; ++j) x[j] = Activation::template of<Out>(x[j]);
    store_box<Out>(x, box);
    if (map != nullptr) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncwarp();
      if (lane == 0) write_box(map, box, first, part.row, part.matrix);
    } else {
      __syncwarp();
      each_of_box<Out, 1, 1>(part, first, [&](long long at, int place) {
        c[at] = *reinterpret_cast<const Out*>(box + place);
      });
      __syncwarp();
    }
  }
}

// The tiles of C in the order in which they are computed: in bands of kBand rows, from left to right, so that
// the blocks that run at the same time share rows of A and columns of B.
template <int TileN, int Blocks>
struct Tiles {
  int rows, columns, count;

  __device__ __forceinline__ Tiles(int batch, int m, int n) {
    rows = (m + kTileM * Blocks - 1) / (kTileM * Blocks);
    columns = (n + TileN - 1) / TileN;
    count = batch * rows * columns;
  }

  __device__ __forceinline__ void place(int index, unsigned block, int& batch, int& row, int& column) const {
    batch = index / (rows * columns);
    index %= rows * columns;
    const int first = index / (kBand * columns) * kBand;
    const int height = min(kBand, rows - first);
    index -= first * columns;
    column = index / height * TileN;
    row = ((first + index % height) * Blocks + block) * kTileM;
  }
};

template <int TileN, int Stages>
struct Memory {
  Pipeline<kTileM, TileN, Stages> pipeline;
  Staging staging[4 * kConsumers];
  TensorMap map_staging;
  const TensorMap* map;  // of C, or null
};

template <class In, class Out, class Activation, bool IsWeights, int TileN, int Stages, int Blocks>
__global__ void CUDA_KERNELS_CLUSTER(Blocks) __launch_bounds__(kGemmThreads, 1)
    gemm_sm90a(const In* __restrict__ a,
               const In* __restrict__ b,
               const In* __restrict__ bias,
               const Out* __restrict__ residual,
               Out* __restrict__ c,
               int batch,
               int m,
               int n,
               int k) {
  static_assert(IsWeights || TileN / Blocks % 64 == 0, "a block copies whole parts of 64 columns");
  auto& memory = dynamic_shared_memory<Memory<TileN, Stages>>();
  auto& pipeline = memory.pipeline;
  const unsigned block = Blocks > 1 ? block_of_cluster() : 0;
  const bool copied = pipeline.template can_copy<In, IsWeights>(a, b, n, k);
  if (threadIdx.x == 96) pipeline.template initialise<Blocks, 128>(copied, 0, m);
  if (threadIdx.x / 32 < 2 && copied) {
    pipeline.template make_maps<In, IsWeights, Blocks>(threadIdx.x / 32, a, b, batch, m, n, k);
  } else if (threadIdx.x / 32 == 2) {
    const TensorMap* map = nullptr;
    if (n % kPack<Out> == 0 && aligned(c, residual)) map = make_tensor_map<Out>(&memory.map_staging, {c, n, m, batch, 16});
    if (threadIdx.x == 64) memory.map = map;
  }
  __syncthreads();
  if constexpr (Blocks > 1) meet_cluster();

  const Tiles<TileN, Blocks> tiles(batch, m, n);
  const int first = blockIdx.x / Blocks, step = gridDim.x / Blocks;
  const int steps = max(1, (k + kTileK - 1) / kTileK);  // of zeros alone, if there is no k
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);  // known to be the same in all of the warp
  Ring<Stages> ring;
  int matrix, row, column;

  if (warp < 4) {
    release_registers<kProducerRegisters>();
    if (!copied) {
      for (int index = first; index < tiles.count; index += step) {
        tiles.place(index, block, matrix, row, column);
        for (int i = 0; i < steps; ++i, ring.advance()) {
          wait(&pipeline.empty[ring.stage], ring.parity ^ 1);
          pipeline.template load<In, IsWeights, 128>(threadIdx.x, ring.stage, a + static_cast<long long>(matrix) * m * k,
                                                b + static_cast<long long>(matrix) * n * k, m, n, k, row, column,
                                                i * kTileK);
        }
      }
    } else if (threadIdx.x == 0) {
      const auto source = pipeline.source();
      for (int index = first; index < tiles.count; index += step) {
        tiles.place(index, block, matrix, row, column);
        for (int i = 0; i < steps; ++i, ring.advance()) {
          wait(&pipeline.empty[ring.stage], ring.parity ^ 1);
          pipeline.template copy<IsWeights, Blocks>(source, ring.stage, matrix, row, column, i * kTileK, block);
        }
      }
    }
  } else {
    take_registers<kConsumerRegisters>();
    const int group = warp / 4 - 1, thread = threadIdx.x % 128;
    const TensorMap* const map = memory.map;
    if (map != nullptr) acquire_tensor_map(map);
    const auto release = [&](int stage) {
      if constexpr (Blocks > 1) {
        if (thread < Blocks) arrive_at(&pipeline.empty[stage], thread);
      } else {
        if (thread == 0) arrive(&pipeline.empty[stage]);
      }
    };
    for (int index = first; index < tiles.count; index += step) {
      float sums[TileN / 2];
      int last = 0;
      for (int i = 0; i < steps; ++i, ring.advance()) {
        wait(&pipeline.full[ring.stage], ring.parity);
        pipeline.template multiply<In, IsWeights>(sums, ring.stage, group, i > 0);
        warpgroup_wait<1>();
        if (i > 0) release(last);
        last = ring.stage;
      }
      warpgroup_wait<0>();
      release(last);
      tiles.place(index, block, matrix, row, column);
      write_rows<In, Out, Activation, TileN>(sums, memory.staging[warp - 4], map, bias, residual, c,
                                             {row + group * 64 + warp % 4 * 16, column, matrix, m, n});
    }
    wait_for_written_boxes();
  }
  // No block ends while others may still arrive at its barriers, nor gives back maps while they are in use.
  if constexpr (Blocks > 1) {
    meet_cluster();
  } else {
    __syncthreads();
  }
  pipeline.give_back_maps();
  if (threadIdx.x == 2 && memory.map != nullptr) give_back(memory.map);
}

}  // namespace cuda_kernels
