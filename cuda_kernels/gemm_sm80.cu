// C = act(A B + bias + residual) for A [batch, m, k] and B [batch, k, n], or weights [batch, n, k], of f16 or
// bf16, in f32, on the tensor cores of sm_80 and later. Bias [n] and residual [batch, m, n] may each be absent
// (null). Any sizes; the fast way has rows of whole 16 bytes at aligned addresses.
//
// A block computes a tile of C, TileM x TileN. It goes along k in steps of TileK and keeps the tile in its
// threads' registers: of it, each warp has a part of (TileM / WarpsM) x (TileN / WarpsN), as fragments of
// mma.sync (include/mma.cuh).
//
// The pipeline, three deep:
//   cp.async    global memory -> one of `Stages` stages in shared memory, Stages - 1 steps ahead;
//   ldmatrix    shared memory -> registers, 16 of k ahead, in two sets of registers;
//   mma.sync    registers -> the tile. 64 x 64 of a warp are 32 of them for 8 ldmatrix.
// One barrier a step: after it the next stage is there for everybody, and the last one is used by nobody any
// more, so it is filled again. In shared memory the 16-byte chunk j of row i lies in the place of chunk j ^ i,
// of the low bits: so both the rows that cp.async writes and the columns that ldmatrix reads use every bank.
//
// Memory traffic: A is read by n / TileN blocks and B by m / TileM, C is written once. Blocks that run at the
// same time compute neighbouring tiles, 8 high, so that all but the first of these reads are of the L2 cache. From there
// a tile needs (TileM + TileN) * TileK * 2 bytes for 2 * TileM * TileN * TileK operations: at 128 x 256
// 85 operations a byte.

#include "include/activation.cuh"
#include "include/mma.cuh"
#include "include/pack.cuh"

namespace cuda_kernels {

constexpr int kChunk = 8;  // elements of 16 bytes

// Where a chunk of a row lies in a tile of shared memory with rows of `Columns` elements, in bytes.
template <int Columns>
__device__ __forceinline__ unsigned place(int row, int chunk) {
  constexpr int chunks = Columns / kChunk;  // of 128 bytes, which are all banks, there are 8
  const int turn = chunks >= 8 ? row % 8 : row / (8 / chunks) % chunks;
  return row * Columns * 2 + (chunk ^ turn) * 16;
}

// A tile of a matrix on its way to shared memory: the chunks that one thread copies. Of the matrix, `rows` x
// `columns` elements are left from `from` on, and its rows lie `stride` elements apart; what lies beyond is zeros.
template <int Rows, int Columns, int Threads, class T>
struct Copies {
  static constexpr int chunks = Columns / kChunk, at_once = Threads / chunks;  // of a row; rows
  static constexpr int count = Rows / at_once;
  static_assert(Threads % chunks == 0 && Rows % at_once == 0, "every thread copies as many");

  // Begins the copy `i`, unless the addresses are not for it.
  static __device__ __forceinline__ void begin(int i, unsigned tile, const T* from, long long stride, int rows,
                                               int columns, bool packs) {
    const int row = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
    const int left = chunk * kChunk < columns ? rows - row : 0;
    copy_async(tile + place<Columns>(row + i * at_once, chunk),
               from + row * stride + chunk * kChunk + i * at_once * stride, i * at_once < left ? 16 : 0, packs);
  }

  // All of them, from any addresses.
  static __device__ __forceinline__ void make_slowly(unsigned char* tile, const T* from, long long stride,
                                                     int rows, int columns) {
#pragma unroll 1
    for (int unit = threadIdx.x * kChunk; unit < Rows * Columns; unit += Threads * kChunk) {
      const int row = unit / Columns, column = unit % Columns;
      T* const to = reinterpret_cast<T*>(tile + place<Columns>(row, column / kChunk));
#pragma unroll 1
      for (int e = 0; e < kChunk; ++e)
        to[e] = row < rows && column + e < columns ? from[row * stride + column + e] : static_cast<T>(0.0f);
    }
  }
};

// kChunk elements from an aligned address, as floats, and the opposite.
template <class T>
__device__ __forceinline__ void load_chunk(const T* from, float* values) {
  for (int i = 0; i < kChunk; i += kPack<T>) load_pack(from + i, values + i);
}

template <class T>
__device__ __forceinline__ void store_chunk(T* to, const float* values) {
  for (int i = 0; i < kChunk; i += kPack<T>) store_pack(to + i, values + i);
}

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int TileK, int Stages,
          int WarpsM, int WarpsN>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN) gemm(const In* __restrict__ a,
                                                             const In* __restrict__ b,
                                                             const In* __restrict__ bias,
                                                             const Out* __restrict__ residual,
                                                             Out* __restrict__ c,
                                                             int batch,
                                                             int m,
                                                             int n,
                                                             int k) {
  constexpr int threads = 32 * WarpsM * WarpsN;
  constexpr int rows = TileM / WarpsM / 16, columns = TileN / WarpsN / 8;  // fragments of a warp
  constexpr int slices = TileK / 16;
  constexpr int a_bytes = TileM * TileK * 2, stage_bytes = a_bytes + TileN * TileK * 2;
  static_assert(columns % 2 == 0 && slices % 2 == 0 && Stages >= 2, "what is loaded at once");
  extern __shared__ __align__(128) unsigned char stages[];

  // Which tile: of 8 rows of tiles, one column after the other.
  const int tiles_m = (m + TileM - 1) / TileM, tiles_n = (n + TileN - 1) / TileN;
  const int number = blockIdx.x / (tiles_m * tiles_n), tile = blockIdx.x % (tiles_m * tiles_n);
  const int group = tile / (8 * tiles_n), height = min(tiles_m - group * 8, 8);
  const int first_m = (group * 8 + tile % (8 * tiles_n) % height) * TileM;
  const int first_n = tile % (8 * tiles_n) / height * TileN;

  const bool packs = aligned(a, b) && k % kChunk == 0 && (IsWeights || n % kChunk == 0);
  a += (static_cast<long long>(number) * m + first_m) * k;
  b += static_cast<long long>(number) * n * k +
       (IsWeights ? static_cast<long long>(first_n) * k : static_cast<long long>(first_n));
  using CopiesOfA = Copies<TileM, TileK, threads, In>;
  using CopiesOfB = Copies<IsWeights ? TileN : TileK, IsWeights ? TileK : TileN, threads, In>;
  const long long stride = IsWeights ? k : n;
  // Begins part `part` of `parts` of the copies for a step.
  const auto load_stage = [&](int step, int part, int parts) {
    constexpr int count = CopiesOfA::count + CopiesOfB::count;
    const int at = step * TileK;
    const unsigned stage = shared_address(stages) + step % Stages * stage_bytes;
#pragma unroll
    for (int i = part * count / parts; i < (part + 1) * count / parts; ++i) {
      if (i < CopiesOfA::count) {
        CopiesOfA::begin(i, stage, a + at, k, m - first_m, k - at, packs);
      } else if constexpr (IsWeights) {
        CopiesOfB::begin(i - CopiesOfA::count, stage + a_bytes, b + at, stride, n - first_n, k - at, packs);
      } else {
        CopiesOfB::begin(i - CopiesOfA::count, stage + a_bytes, b + at * stride, stride, k - at, n - first_n, packs);
      }
    }
  };
  const auto load_slowly = [&](int step) {
    const int at = step * TileK;
    unsigned char* const stage = stages + step % Stages * stage_bytes;
    CopiesOfA::make_slowly(stage, a + at, k, m - first_m, k - at);
    if constexpr (IsWeights) {
      CopiesOfB::make_slowly(stage + a_bytes, b + at, stride, n - first_n, k - at);
    } else {
      CopiesOfB::make_slowly(stage + a_bytes, b + at * stride, stride, k - at, n - first_n);
    }
  };

  // Fragments for 16 of k: two sets, of which one is loaded while the other is used.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp / WarpsN * rows * 16, warp_n = warp % WarpsN * columns * 8;
  unsigned a_parts[2][rows][4], b_parts[2][columns][2];
  const auto load_parts = [&](int step, int slice) {
    const unsigned stage = shared_address(stages) + step % Stages * stage_bytes;
#pragma unroll
    for (int i = 0; i < rows; ++i)
      load_matrices(a_parts[slice % 2][i],
                    stage + place<TileK>(warp_m + i * 16 + lane % 16, slice * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < columns; j += 2) {
      unsigned both[4];
      if constexpr (IsWeights) {
        load_matrices(both, stage + a_bytes + place<TileK>(warp_n + j * 8 + lane / 16 * 8 + lane % 8,
                                                           slice * 2 + lane / 8 % 2));
      } else {
        load_transposed(both, stage + a_bytes +
                                  place<TileN>(slice * 16 + lane % 16, warp_n / 8 + j + lane / 16));
      }
      for (int e = 0; e < 4; ++e) b_parts[slice % 2][j + e / 2][e % 2] = both[e];
    }
  };

  float sums[rows][columns][4] = {};
  for (int step = 0; step < Stages - 1; ++step) {
    load_stage(step, 0, 1);
    if (!packs) load_slowly(step);
    end_group();
  }
  wait_for_groups<Stages - 2>();
  __syncthreads();
  load_parts(0, 0);
#pragma unroll 1
  for (int step = 0; step * TileK < k; ++step) {
    if (!packs) load_slowly(step + Stages - 1);
#pragma unroll
    for (int slice = 0; slice < slices; ++slice) {
      if (slice + 1 == slices) {
        end_group();
        wait_for_groups<Stages - 2>();
        __syncthreads();
        load_parts(step + 1, 0);
      } else {
        load_parts(step, slice + 1);
        load_stage(step + Stages - 1, slice, slices - 1);
      }
#pragma unroll
      for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          const int turned = i % 2 == 0 ? j : columns - 1 - j;  // next to the last one, in B or in A
          multiply_add(In(), sums[i][turned], a_parts[slice % 2][i], b_parts[slice % 2][turned]);
        }
    }
  }
  wait_for_groups<0>();
  __syncthreads();  // the stages are free

  // A warp's part goes through shared memory, so that each thread has 8 neighbours.
  constexpr int width = columns * 8, apart = width + 8;  // rows that begin in different banks
  float* const part = reinterpret_cast<float*>(stages) + warp * rows * 16 * apart;
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < columns; ++j)
      for (int half = 0; half < 2; ++half) {
        float* const to = part + (i * 16 + half * 8 + lane / 4) * apart + j * 8 + lane % 4 * 2;
        float2 pair;
        pair.x = sums[i][j][half * 2];
        pair.y = sums[i][j][half * 2 + 1];
        *reinterpret_cast<float2*>(to) = pair;
      }
  __syncwarp();
  const bool whole = aligned(bias, residual, c) && n % kChunk == 0;
#pragma unroll 2
  for (int unit = lane; unit < rows * 16 * width / kChunk; unit += 32) {
    const int part_row = unit / (width / kChunk), part_column = unit % (width / kChunk) * kChunk;
    const int row = first_m + warp_m + part_row, column = first_n + warp_n + part_column;
    if (row >= m || column >= n) continue;
    const float* const from = part + part_row * apart + part_column;
    const long long at = (static_cast<long long>(number) * m + row) * n + column;
    if (whole) {
      float values[kChunk], others[kChunk];
      for (int e = 0; e < kChunk; ++e) values[e] = from[e];
      if (bias != nullptr) {
        load_chunk(bias + column, others);
        for (int e = 0; e < kChunk; ++e) values[e] += others[e];
      }
      if (residual != nullptr) {
        load_chunk(residual + at, others);
        for (int e = 0; e < kChunk; ++e) values[e] += others[e];
      }
      for (int e = 0; e < kChunk; ++e) values[e] = Activation::template of<Out>(values[e]);
      store_chunk(c + at, values);
    } else {
#pragma unroll 1
      for (int e = 0; e < min(n - column, kChunk); ++e) {
        float value = from[e];
        if (bias != nullptr) value += static_cast<float>(bias[column + e]);
        if (residual != nullptr) value += static_cast<float>(residual[at + e]);
        c[at + e] = static_cast<Out>(Activation::template of<Out>(value));
      }
    }
  }
}

}  // namespace cuda_kernels
