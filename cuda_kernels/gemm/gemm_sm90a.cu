// C = act(A B + bias + residual) as in gemm_sm80.cu, with what sm_90a has of its own: products of warpgroups
// (wgmma) and copies by tensor maps (TMA).
//
// A block stays on its multiprocessor and computes tiles of TileM x TileN, one after another. Its warps have roles:
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
// The consumers compute a tile together, half of its rows each, or take turns, a tile each: then one writes while the
// other multiplies. By turns a warpgroup needs registers for a whole tile, of 128 x 192 at the most.
//
//   together   0  multiply 0, 0 | write | multiply 2, 0 | write      by turns   0  multiply 0 | write |      multiply 2 |
//              1  multiply 0, 1 | write | multiply 2, 1 | write                 1             | multiply 1 | write |
//
// Two blocks of a cluster compute tiles one above the other. Each brings its own rows of A and half of the columns
// of B, which the TMA writes into the shared memory of both: 32 KiB a step in place of 48 from the L2 cache. So
// `empty` waits for the consumers of both.
//
// Memory traffic: from the L2 cache (TileM + TileN / Blocks) * 64 * 2 bytes for 2 * TileM * TileN * 64 operations, 128
// of them a byte at 128 x 256; a wgmma of 64 x 256 x 16 takes 128 cycles and reads 10 KiB of shared memory.
//
// Operands whose rows do not begin at multiples of 16 bytes are loaded by the producers' threads, element by element,
// into the same places. It is right, and slow.

#include "../include/gemm_sm90a.cuh"

namespace cuda_kernels {

constexpr int kConsumers = 2;                         // warpgroups
constexpr int kGemmThreads = 128 * (1 + kConsumers);  // a warpgroup of producers first
constexpr int kBand = 8;                              // rows of tiles that are computed side by side

// Of a thread; a block has 3 * 168 at its launch, and who multiplies a whole tile needs more of them.
template <int Together>
constexpr int kProducerRegisters = Together == 1 ? 40 : 56;
template <int Together>
constexpr int kConsumerRegisters = Together == 1 ? 232 : 224;

template <class T>
__device__ __forceinline__ unsigned pack_two(float low, float high) {
  const T both[2] = {static_cast<T>(low), static_cast<T>(high)};
  unsigned bits;
  memcpy(&bits, both, sizeof(bits));
  return bits;
}

// 16 rows of C that a warp computes, and its shared memory for them: 128 bytes of each row at a time, in turn in two
// boxes, so that the copy engine takes one while the other is written. They have the swizzle of the engine, by which the 16
// bytes `chunk` of a row lie at `place`: so the fragments of 8 rows use every bank once.
struct Staging {
  unsigned char boxes[2][16 * 128];

  static __device__ __forceinline__ int place(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }
};

// A warp's part of C: its first row and column, and the ends of the matrix, which is the `matrix`-th of the batch.
struct Part {
  int row, column, matrix, m, n;
};

// Calls `work` with `Count` neighbours of a box at a time that are this lane's, in the box's first `width` columns and
// inside of C: where they are in C, and in the box.
template <class Out, int Count, int Unroll, class Work>
__device__ __forceinline__ void each_of_box(const Part& part, int first, int width, Work&& work) {
  constexpr int pieces = 128 / sizeof(Out) / Count;  // of a row
#pragma unroll Unroll
  for (int i = threadIdx.x % 32; i < 16 * pieces; i += 32) {
    const int row = i / pieces, at = i % pieces * Count;
    if (part.row + row < part.m && first + at < part.n && at < width) {
      const long long line = static_cast<long long>(part.matrix) * part.m + part.row + row;
      work(line * part.n + first + at, Staging::place(row, at / kPack<Out>) + at % kPack<Out> * sizeof(Out));
    }
  }
}

// Adds the residual to the sums of a box.
template <class Out>
__device__ __forceinline__ void add_residual(float* sums, unsigned char* box, const Out* __restrict__ residual,
                                             const Part& part, int first, int width, bool packs) {
  if (packs) {
    each_of_box<Out, kPack<Out>, 2>(part, first, width, [&](long long at, int place) {
      *reinterpret_cast<uint4*>(box + place) = load_bits(residual + at);
    });
  } else {
    each_of_box<Out, 1, 1>(part, first, width,
                           [&](long long at, int place) { *reinterpret_cast<Out*>(box + place) = residual[at]; });
  }
  __syncwarp();
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kPack<Out> * 2; ++i) {
    if (i / 2 * 8 >= width) break;
    const int byte = (i / 2 * 8 + lane % 4 * 2) * sizeof(Out);
    Out both[2];
    memcpy(both, box + Staging::place(lane / 4 + i % 2 * 8, byte / 16) + byte % 16, sizeof(both));
    sums[2 * i] += static_cast<float>(both[0]), sums[2 * i + 1] += static_cast<float>(both[1]);
  }
  __syncwarp();
}

// The fragments of a box to shared memory.
template <class Out>
__device__ __forceinline__ void store_box(const float* sums, unsigned char* box, int width) {
  const int lane = threadIdx.x % 32;
  if constexpr (sizeof(Out) == 2) {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {  // blocks of 8 columns, two at a time
      if (i * 8 >= width) break;
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
      if (i / 2 * 8 >= width) break;
      const int byte = (i / 2 * 8 + lane % 4 * 2) * 4;
      *reinterpret_cast<float2*>(box + Staging::place(lane / 4 + i % 2 * 8, byte / 16) + byte % 16) = {
          sums[2 * i], sums[2 * i + 1]};
    }
  }
}

// Writes a warp's 16 rows of a tile of `TileN` columns. The copy engine takes whole boxes from shared memory while the
// warp goes on. The threads write what is left of a row, and all where C is not made of whole 16 bytes (`map` is null).
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
  for (int i = 0; i < (TileN + columns - 1) / columns; ++i) {
    const int first = part.column + i * columns, width = min(columns, TileN - i * columns);
    if (first >= part.n) break;
    unsigned char* const box = staging.boxes[i % 2];
    float* const x = &sums[i * columns / 2];
    // The copy engine has read this box, used two boxes ago; at the beginning of a tile it may be the latest of all, since
    // a tile can have an odd number of them.
    if (i == 0) {
      wait_for_boxes<0>();
    } else {
      wait_for_boxes<1>();
    }
    __syncwarp();
    if (residual != nullptr) add_residual(x, box, residual, part, first, width, map != nullptr);
#pragma unroll
    for (int j = 0; j < columns / 2; ++j)
      if (j < width / 2) x[j] = Activation::template of<Out>(x[j]);
    store_box<Out>(x, box, width);
    if (map != nullptr && width == columns) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncwarp();
      if (lane == 0) write_box(map, box, first, part.row, part.matrix);
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

// Consumers who take turns: all of one warpgroup wait, all of the other have come.
__device__ __forceinline__ void wait_for_turn(int turn) {
  if (turn == 0) {
    asm volatile("bar.sync 1, 256;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 256;" ::: "memory");
  }
}

__device__ __forceinline__ void give_turn(int turn) {
  if (turn == 0) {
    asm volatile("bar.arrive 1, 256;" ::: "memory");
  } else {
    asm volatile("bar.arrive 2, 256;" ::: "memory");
  }
}

// The tiles of C in the order in which they are computed: in bands of kBand rows, from left to right, so that
// the blocks that run at the same time share rows of A and columns of B.
template <int TileM, int TileN, int Blocks>
struct Tiles {
  int rows, columns, count;

  __device__ __forceinline__ Tiles(int batch, int m, int n) {
    rows = (m + TileM * Blocks - 1) / (TileM * Blocks);
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
    row = ((first + index % height) * Blocks + block) * TileM;
  }
};

template <int TileM, int TileN, int Stages, int Blocks, int Together>
struct Memory {
  Pipeline<TileM, TileN, Stages, Together> pipeline;
  Staging staging[4 * kConsumers];
  TensorMap map_staging;
  const TensorMap* map;  // of C, or null
  Tiles<TileM, TileN, Blocks> tiles;
};

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int Stages, int Blocks, int Together>
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
  static_assert((Together == kConsumers || Together == 1) && TileM % (64 * Together) == 0, "together or by turns");
  static_assert(IsWeights || TileN / Blocks % 64 == 0, "a block copies whole parts of 64 columns");
  auto& memory = dynamic_shared_memory<Memory<TileM, TileN, Stages, Blocks, Together>>();
  auto& pipeline = memory.pipeline;
  const unsigned block = Blocks > 1 ? block_of_cluster() : 0;
  const bool copied = pipeline.template can_copy<In, IsWeights>(a, b, n, k);
  if (threadIdx.x == 96) pipeline.template initialise<Blocks, 128>(copied, m);
  if (threadIdx.x == 128) memory.tiles = Tiles<TileM, TileN, Blocks>(batch, m, n);
  if (threadIdx.x / 32 < 2 && copied) {
    pipeline.template make_maps<In, IsWeights, Blocks>(threadIdx.x / 32, a, b, batch, m, n, k);
  } else if (threadIdx.x / 32 == 2) {
    const TensorMap* map = nullptr;
    if (n % kPack<Out> == 0 && aligned(c, residual)) map = make_tensor_map<Out>(&memory.map_staging, {c, n, m, batch, 16});
    if (threadIdx.x == 64) memory.map = map;
  }
  __syncthreads();
  if constexpr (Blocks > 1) meet_cluster();

  const auto& tiles = memory.tiles;
  const int first = blockIdx.x / Blocks, step = gridDim.x / Blocks;
  const int steps = max(1, (k + kTileK - 1) / kTileK);  // of zeros alone, if there is no k
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);  // known to be the same in all of the warp
  Ring<Stages> ring;
  int matrix, row, column;

  if (warp < 4) {
    release_registers<kProducerRegisters<Together>>();
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
    take_registers<kConsumerRegisters<Together>>();
    constexpr int turns = kConsumers / Together, parts = TileM / 64 / Together;  // of 64 rows, of a warpgroup
    const int group = warp / 4 - 1, thread = threadIdx.x % 128;
    const int turn = Together == 1 ? group : 0, part = Together == 1 ? 0 : group;
    const TensorMap* const map = memory.map;
    if (map != nullptr) acquire_tensor_map(map);
    const auto release = [&](int stage) {
      if constexpr (Blocks > 1) {
        if (thread < Blocks) arrive_at(&pipeline.empty[stage], thread);
      } else {
        if (thread == 0) arrive(&pipeline.empty[stage]);
      }
    };
    ring.advance(turn * steps);
    for (int index = first + turn * step; index < tiles.count; index += turns * step) {
      float sums[parts][TileN / 2];
      int last = 0;
      // Parities tell a phase from the one before it alone: so none waits for a tile before the last has arrived.
      if (turns > 1 && index > first) wait_for_turn(turn);
      for (int i = 0; i < steps; ++i, ring.advance()) {
        wait(&pipeline.full[ring.stage], ring.parity);
        pipeline.template multiply<In, IsWeights, parts>(sums, ring.stage, part, i > 0);
        warpgroup_wait<1>();
        if (i > 0) release(last);
        last = ring.stage;
      }
      if (turns > 1 && index + step < tiles.count) give_turn(1 - turn);
      ring.advance((turns - 1) * steps);
      warpgroup_wait<0>();
      release(last);
      tiles.place(index, block, matrix, row, column);
#pragma unroll
      for (int i = 0; i < parts; ++i) {
        const Part rows{row + (part + i) * 64 + warp % 4 * 16, column, matrix, m, n};
        write_rows<In, Out, Activation, TileN>(sums[i], memory.staging[warp - 4], map, bias, residual, c, rows);
      }
    }
    // Shared memory is there until it was read, and a map that others may claim until all was written.
    if (map != nullptr && is_claimed(map)) {
      wait_for_written_boxes();
    } else {
      wait_for_boxes<0>();
    }
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
