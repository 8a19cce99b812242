// The mainloop and the epilogue of GEMMs from sm_80 on, with tiles in swizzled shared memory: #include "../include/tile.cuh".
//
// A row of a tile is 64 bytes or a multiple of 128. The XOR swizzle puts the 16-byte chunk j of row i at j ^ i (in the low
// bits): so 8 adjacent chunks of a row, and the same chunk of 8 adjacent rows, both cover all banks.
#pragma once

#include "mma.cuh"
#include "pack.cuh"

namespace cuda_kernels {

// The swizzled offset of a chunk of a row, in bytes, in a tile with rows of `Columns` elements.
template <int Columns, class T>
__device__ __forceinline__ unsigned swizzled(int row, int chunk) {
  constexpr int chunks = Columns / kPack<T>;  // 8 per 128 bytes, which cover all banks
  static_assert(chunks == 4 || chunks % 8 == 0, "a row of 64 bytes, or of all banks");
  const int turn = chunks >= 8 ? row % 8 : row / 2 % 4;
  return (row * chunks + (chunk ^ turn)) * 16;
}

// The offset `chunk` chunks further in the row, from one whose chunk has none of these bits: an XOR, not an addition,
// because of the swizzle. So several offsets need one address and constants.
__device__ __forceinline__ unsigned swizzled_further(unsigned swizzled, int chunk) {
  return (swizzled ^ chunk % 8 * 16) + chunk / 8 * 128;
}

// 4 bytes of shared memory.
__device__ __forceinline__ unsigned load_shared(unsigned address) {
  unsigned bits;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(bits) : "r"(address) : "memory");
  return bits;
}

// A thread's share of the copies of a tile to shared memory, for each step: chunks that are `at_once` rows apart.
template <class T, int Rows, int Columns, int Threads>
struct Copies {
  static constexpr int chunks = Columns / kPack<T>, at_once = Threads / chunks;  // chunks of a row; rows at once
  static constexpr int count = Rows / at_once;
  static_assert(Threads % chunks == 0 && Rows % at_once == 0, "every thread copies as many");
  static_assert(at_once % 8 == 0, "a thread's chunks lie at the same swizzled of their rows");

  const T* from;      // the first chunk
  int stride;         // elements from row to row
  int rows, columns;  // of the matrix, from the first chunk on; zeros beyond
  unsigned to;        // its place in the tile

  __device__ __forceinline__ Copies(const T* tile, int stride, int rows, int columns) : stride(stride) {
    const int row = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
    from = tile + static_cast<long long>(row) * stride + chunk * kPack<T>;
    this->rows = rows - row;
    this->columns = columns - chunk * kPack<T>;
    to = swizzled<Columns, T>(row, chunk);
  }

  // The source of chunk `i`, and its offset in bytes from the first.
  __device__ __forceinline__ const T* source(int i) const {
    constexpr unsigned size = at_once * sizeof(T);
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(from) +
                                      static_cast<unsigned long long>(static_cast<unsigned>(stride)) * (i * size));
  }
  static __device__ __forceinline__ unsigned offset(int i) { return i * at_once * Columns * sizeof(T); }

  // Issues the cp.async copies, if the addresses allow them.
  __device__ __forceinline__ void begin_copies(unsigned tile, bool vectorised) const {
#pragma unroll
    for (int i = 0; i < count; ++i)
      cp_async(tile + to + offset(i), source(i), columns > 0 && i * at_once < rows ? 16 : 0, vectorised);
  }

  // Copies element by element, from any addresses; those of 4 bytes by cp.async, so that nothing waits for them here.
  __device__ __forceinline__ void copy_elements(unsigned char* tile) const {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int there = i * at_once < rows ? columns : 0;
      if constexpr (sizeof(T) == 4) {
        const T* const first = source(i);
        const unsigned place = shared_address(tile) + to + offset(i);
#pragma unroll 1
        for (int e = 0; e < kPack<T>; ++e) cp_async<4>(place + e * 4, first + e, e < there ? 4 : 0);
      } else {
        *reinterpret_cast<uint4*>(tile + to + offset(i)) = load_elements(source(i), there);
      }
    }
  }

  // Copies through registers, `AtOnce` chunks at once, from any addresses in a matrix that starts at `begin`.
  template <int AtOnce>
  __device__ __forceinline__ void copy_shifted(unsigned char* tile, const T* begin) const {
    const Array array(begin, from - begin + static_cast<long long>(rows - 1) * stride + columns);
    const auto left = [&](int i) { return i * at_once < rows ? columns : 0; };
#pragma unroll 1
    for (int first = 0; first < count; first += AtOnce) {
      Shifted<T> some[AtOnce];
#pragma unroll
      for (int i = 0; i < AtOnce; ++i)
        if (count % AtOnce == 0 || first + i < count)
          some[i] = Shifted<T>(source(first + i), array);
#pragma unroll
      for (int i = 0; i < AtOnce; ++i)
        if (count % AtOnce == 0 || first + i < count)
          *reinterpret_cast<uint4*>(tile + to + offset(first + i)) = some[i].value(source(first + i), left(first + i), array);
    }
  }
};

// Threadblock swizzle: which tile of which result a block computes. Tiles come in bands of 8 rows, column by column, so that
// blocks that run at the same time read few rows and columns.
template <int TileM, int TileN>
struct SwizzledTile {
  int number, m, n;  // of the result; the tile's first row and column

  __device__ __forceinline__ SwizzledTile(int of_m, int of_n, int index = blockIdx.x) {
    const int tiles_m = (of_m + TileM - 1) / TileM, tiles_n = (of_n + TileN - 1) / TileN;
    const int tile = index % (tiles_m * tiles_n), group = tile / (8 * tiles_n);
    const int height = min(tiles_m - group * 8, 8), in_group = tile % (8 * tiles_n);
    number = index / (tiles_m * tiles_n);
    m = (group * 8 + in_group % height) * TileM;
    n = in_group / height * TileN;
  }
};

// The multistage mainloop of a tile, over A [m, k] and B [k, n], or weights [n, k]:
//
//   cp.async    global memory -> one of `Stages` stages in shared memory, Stages - 1 steps of TileK ahead;
//   ldmatrix    shared memory -> registers, 32 bytes of k ahead, double-buffered fragments.
//
// Each warp has a warp tile of (TileM / WarpsM) x (TileN / WarpsN), and of each step's k one of WarpsK slices.
template <class T, bool IsWeights, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN, int WarpsK>
struct MainloopSm80 {
  static constexpr int rows = TileM / WarpsM / 16, columns = TileN / WarpsN / 8;  // fragments of a warp
  static constexpr int of_slice = 32 / sizeof(T), slices = TileK / of_slice / WarpsK;
  static constexpr int warps_m = WarpsM, warps_n = WarpsN, warps_k = WarpsK, stage_count = Stages;
  static constexpr int threads = 32 * WarpsM * WarpsN * WarpsK;
  static constexpr unsigned a_bytes = TileM * TileK * sizeof(T), bytes = a_bytes + TileN * TileK * sizeof(T);
  static_assert(columns % 2 == 0 && slices % 2 == 0 && Stages >= 2, "what is loaded at once");
  static_assert((slices & (slices - 1)) == 0 && (IsWeights || (columns & (columns - 1)) == 0), "bits of places");
  using Tile = SwizzledTile<TileM, TileN>;
  using OfA = Copies<T, TileM, TileK, threads>;
  using OfB = Copies<T, IsWeights ? TileN : TileK, IsWeights ? TileK : TileN, threads>;

  OfA of_a;
  OfB of_b;
  const T *const a, *const b;
  unsigned char* const stages;
  const int k;
  const bool vectorised;              // aligned addresses and rows of whole 16-byte packs
  unsigned written, read;        // stages, as offsets in bytes from the first
  unsigned a_place, b_place;     // of the warp's first fragments, swizzled
  unsigned a_fragments[2][rows][4], b_fragments[2][columns][2];

  __device__ __forceinline__ MainloopSm80(const T* a, const T* b, const Tile& tile, int m, int n, int k,
                                      unsigned char* stages)
      : of_a(a + (static_cast<long long>(tile.number) * m + tile.m) * k, k, m - tile.m, k),
        of_b(b + static_cast<long long>(tile.number) * n * k + static_cast<long long>(tile.n) * (IsWeights ? k : 1),
             IsWeights ? k : n, IsWeights ? n - tile.n : k, IsWeights ? k : n - tile.n),
        a(a),
        b(b),
        stages(stages),
        k(k),
        vectorised(aligned(a, b) && k % kPack<T> == 0 && (IsWeights || n % kPack<T> == 0)),
        written(0),
        read(0) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int of_m = warp / WarpsN % WarpsM * rows * 16, of_n = warp % WarpsN * columns * 8;
    const int slice = warp / (WarpsN * WarpsM) * slices;
    a_place = shared_address(stages) + swizzled<TileK, T>(of_m + lane % 16, slice * 2 + lane / 16);
    b_place = shared_address(stages) + a_bytes;
    if constexpr (IsWeights) {
      b_place += swizzled<TileK, T>(of_n + lane / 16 * 8 + lane % 8, slice * 2 + lane / 8 % 2);
    } else if constexpr (sizeof(T) == 2) {
      b_place += swizzled<TileN, T>(slice * of_slice + lane % 16, of_n / 8 + lane / 16);
    } else {
      b_place += swizzled<TileN, T>(slice * of_slice + lane % 4, of_n / 4 + lane / 16) + lane / 4 % 4 * 4;
    }
  }

  static __device__ __forceinline__ void advance(unsigned& stage) {
    stage = stage == (Stages - 1) * bytes ? 0 : stage + bytes;
  }

  // Issues the copies for the next stage, if the addresses allow them.
  __device__ __forceinline__ void begin_copies() const {
    of_a.begin_copies(shared_address(stages) + written, vectorised);
    of_b.begin_copies(shared_address(stages) + written + a_bytes, vectorised);
  }

  // Copies through registers, from any addresses: as many chunks at once as there are registers for.
  __device__ __forceinline__ void copy_elements() const {
    if constexpr (sizeof(T) == 2) {
      constexpr int at_once = rows * columns <= 16 ? 4 : 1;
      of_a.template copy_shifted<at_once>(stages + written, a);
      of_b.template copy_shifted<at_once>(stages + written + a_bytes, b);
    } else {
      of_a.copy_elements(stages + written);
      of_b.copy_elements(stages + written + a_bytes);
    }
  }

  // Commits the stage and advances to the next one.
  __device__ __forceinline__ void advance_stage() {
    cp_async_commit();
    advance(written);
    of_a.from += TileK;
    of_a.columns -= TileK;
    if constexpr (IsWeights) {
      of_b.from += TileK;
      of_b.columns -= TileK;
    } else {
      of_b.from += static_cast<long long>(TileK) * of_b.stride;
      of_b.rows -= TileK;
    }
  }

  // Loads the fragments of a slice from the stage that is being read.
  __device__ __forceinline__ void load_fragments(int slice) {
    unsigned(&a)[rows][4] = a_fragments[slice % 2], (&b)[columns][2] = b_fragments[slice % 2];
#pragma unroll
    for (int i = 0; i < rows; ++i)
      ldmatrix(a[i], swizzled_further(a_place + read, slice * 2) + i * 16 * TileK * sizeof(T));
#pragma unroll
    for (int j = 0; j < columns; j += 2) {
      unsigned both[4];
      if constexpr (IsWeights) {
        ldmatrix(both, swizzled_further(b_place + read, slice * 2) + j * 8 * TileK * sizeof(T));
      } else if constexpr (sizeof(T) == 2) {
        ldmatrix_transposed(both, swizzled_further(b_place + read, j) + slice * of_slice * TileN * sizeof(T));
      } else {
        constexpr int turn = TileN == 16 ? 2 : 4;  // of four rows' chunks
        for (int e = 0; e < 4; ++e)
          both[e] = load_shared(swizzled_further(b_place + read, (j + e / 2) * 2 ^ e % 2 * turn) +
                                (slice * of_slice + e % 2 * 4) * TileN * sizeof(T));
      }
      for (int e = 0; e < 4; ++e) b[j + e / 2][e % 2] = both[e];
    }
  }

  // Calls multiply(fragments of A, of B) for each slice of k. There is one barrier per step: after it, the next stage is
  // visible to all threads and no thread reads the last one any more, so that can be refilled. Memory instructions are
  // issued together before the MMAs: one of a scheduler's two warps issues the former while the other issues the latter.
  template <class Multiply>
  __device__ __forceinline__ void run(const Multiply& multiply) {
    for (int step = 0; step < Stages - 1; ++step) {
      begin_copies();
      if (!vectorised) copy_elements();
      advance_stage();
    }
    cp_async_wait<Stages - 2>();
    __syncthreads();
    load_fragments(0);
#pragma unroll 1
    for (int done = 0; done < k; done += TileK) {
      if (!vectorised) copy_elements();
#pragma unroll
      for (int slice = 0; slice < slices; ++slice) {
        if (slice + 1 == slices) {
          advance_stage();
          cp_async_wait<Stages - 2>();
          __syncthreads();
          advance(read);
        }
        load_fragments((slice + 1) % slices);
        if (slice == 0) begin_copies();
        multiply(a_fragments[slice % 2], b_fragments[slice % 2]);
      }
    }
    cp_async_wait<0>();
    __syncthreads();  // the stages are free
  }
};

constexpr int kUnit = 8;  // adjacent elements that a thread writes

// Loads kUnit elements from an aligned address as floats, and stores them.
template <class T>
__device__ __forceinline__ void load_unit(const T* from, float* values) {
  for (int i = 0; i < kUnit; i += kPack<T>) load_pack(from + i, values + i);
}

template <class T>
__device__ __forceinline__ void store_unit(T* to, const float* values) {
  for (int i = 0; i < kUnit; i += kPack<T>) store_pack(to + i, values + i);
}

// The epilogue: accumulators plus bias and residual, through the activation, to one of the results [m, n]. They go through
// the shared memory of the stages, as many rows of fragments at once as fit. So each thread writes adjacent elements,
// and the accumulators of warps that slice k are reduced.
template <class Mainloop, class Activation, class In, class Out>
__device__ __forceinline__ void epilogue(const Activation& activation,
                                       const float (&accumulators)[Mainloop::rows][Mainloop::columns][4],
                                       unsigned char* stages, const In* bias, const Out* residual, Out* c,
                                       const typename Mainloop::Tile& tile, int m, int n) {
  constexpr int rows = Mainloop::rows, columns = Mainloop::columns, warps_k = Mainloop::warps_k;
  constexpr int apart = columns * 8 + 8, units = columns * 8 / kUnit;  // padded, so that rows start in different banks
  constexpr int warps = Mainloop::threads / 32 / warps_k, size = 16 * apart * 4 * warps * warps_k;
  constexpr int room = Mainloop::bytes * Mainloop::stage_count / size;
  constexpr int at_once = room >= rows ? rows : room >= rows / 2 && rows % 2 == 0 ? rows / 2 : 1;
  static_assert(room >= 1, "room for the accumulators");
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_m = tile.m + warp / Mainloop::warps_n % Mainloop::warps_m * rows * 16;
  const int first_n = tile.n + warp % Mainloop::warps_n * columns * 8;
  float* const part = reinterpret_cast<float*>(stages) + warp * at_once * 16 * apart;
  const float* const of_first = reinterpret_cast<float*>(stages) + warp % warps * at_once * 16 * apart;
  const auto meet = [] {
    if constexpr (warps_k == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  };
  const bool whole = aligned(bias, residual, c) && n % kUnit == 0;
#pragma unroll
  for (int first = 0; first < rows; first += at_once) {
    if (first > 0) meet();
#pragma unroll
    for (int i = 0; i < at_once; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j)
        for (int half = 0; half < 2; ++half) {
          float2 pair;
          pair.x = accumulators[first + i][j][half * 2];
          pair.y = accumulators[first + i][j][half * 2 + 1];
          *reinterpret_cast<float2*>(part + (i * 16 + half * 8 + lane / 4) * apart + j * 8 + lane % 4 * 2) = pair;
        }
    meet();
#pragma unroll 2
    for (int unit = warp / warps * 32 + lane; unit < at_once * 16 * units; unit += 32 * warps_k) {
      const int row = first_m + first * 16 + unit / units, column = first_n + unit % units * kUnit;
      if (row >= m || column >= n) continue;
      const float* const from = of_first + unit / units * apart + unit % units * kUnit;
      const long long at = (static_cast<long long>(tile.number) * m + row) * n + column;
      float values[kUnit];
#pragma unroll
      for (int e = 0; e < kUnit; ++e) {
        values[e] = from[e];
        for (int other = 1; other < warps_k; ++other) values[e] += from[other * warps * at_once * 16 * apart + e];
      }
      if (whole) {
        float others[kUnit];
        if (bias != nullptr) {
          load_unit(bias + column, others);
          for (int e = 0; e < kUnit; ++e) values[e] += others[e];
        }
        if (residual != nullptr) {
          load_unit(residual + at, others);
          for (int e = 0; e < kUnit; ++e) values[e] = activation.joined(values[e], others[e], column + e);
        }
        for (int e = 0; e < kUnit; ++e) values[e] = activation.template of<Out>(values[e], column + e);
        store_unit(c + at, values);
      } else {
#pragma unroll 1
        for (int e = 0; e < min(n - column, kUnit); ++e) {
          float value = from[e];
          for (int other = 1; other < warps_k; ++other) value += from[other * warps * at_once * 16 * apart + e];
          if (bias != nullptr) value += static_cast<float>(bias[column + e]);
          if (residual != nullptr) value = activation.joined(value, static_cast<float>(residual[at + e]), column + e);
          c[at + e] = static_cast<Out>(activation.template of<Out>(value, column + e));
        }
      }
    }
  }
}

}  // namespace cuda_kernels
