// What the kernels of gemm_sm90a.cu and gemm_split_sm90a.cu share: tiles of A and B on their way from global
// memory to the tensor cores. For sm_90a: #include "../include/gemm_sm90a.cuh".
#pragma once

#include "activation.cuh"
#include "mbarrier.cuh"
#include "mma.cuh"
#include "pack.cuh"
#include "tensor_map.cuh"
#include "wgmma.cuh"

// Compiled for older architectures the kernels are templates without instances, and clusters an error.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CUDA_KERNELS_CLUSTER(BLOCKS)
#else
#define CUDA_KERNELS_CLUSTER(BLOCKS) __cluster_dims__(BLOCKS, 1, 1)
#endif

namespace cuda_kernels {

constexpr int kTileK = 64;  // elements of 128 bytes, a row of the swizzle

// The stages of the pipeline in shared memory. A stage holds 64 of k: the tile of A as 128 rows of 128 bytes;
// that of B, if it is weights, the same way, else as parts of 64 columns, each 64 rows of k of 128 bytes. `Together`
// warpgroups compute a tile.
template <int TileM, int TileN, int Stages, int Together = TileM / 64>
struct alignas(1024) Pipeline {
  static constexpr int kBytesA = TileM * kTileK * 2, kBytesB = TileN * kTileK * 2;
  static constexpr int kPartB = 64 * kTileK * 2;  // bytes of 64 columns

  unsigned char a[Stages][kBytesA];
  unsigned char b[Stages][kBytesB];
  TensorMap staging[2];
  const TensorMap* maps[2];
  int rows_a;  // that are copied of each tile of A: no more than there are
  Barrier full[Stages];   // on which the copies of a stage arrive
  Barrier empty[Stages];  // on which its consumers do

  // Whether tiles can be copied: rows of whole 16 bytes at aligned addresses.
  template <class In, bool IsWeights>
  static __device__ __forceinline__ bool can_copy(const In* source_a, const In* source_b, int n, int k) {
    return aligned(source_a, source_b) && k > 0 && k % 8 == 0 && (IsWeights || n % 8 == 0);
  }

  // By one thread, before the block synchronises: `Blocks` of the cluster read what each copies. Where operands cannot
  // be copied in tiles, `Producers` threads load them.
  template <int Blocks, int Producers>
  __device__ __forceinline__ void initialise(bool copied, int m) {
    for (int stage = 0; stage < Stages; ++stage) {
      cuda_kernels::initialise(&full[stage], copied ? 1 : Producers);
      cuda_kernels::initialise(&empty[stage], Together * Blocks);
    }
    publish_barriers();
    rows_a = min(m, TileM);
    if (!copied) maps[0] = maps[1] = nullptr;
  }

  // By two warps of producers, 0 and 1, each one of the maps.
  template <class In, bool IsWeights, int Blocks>
  __device__ __forceinline__ void make_maps(int warp, const In* source_a, const In* source_b, int batch, int m, int n, int k) {
    const TensorMap* map;
    if (warp == 0) {
      map = make_tensor_map<In>(&staging[0], {source_a, k, m, batch, min(m, TileM)});
    } else if constexpr (IsWeights) {
      map = make_tensor_map<In>(&staging[1], {source_b, k, n, batch, TileN / Blocks});
    } else {
      map = make_tensor_map<In>(&staging[1], {source_b, n, k, batch, kTileK});
    }
    if (threadIdx.x % 32 == 0) maps[warp] = map;
  }

  // By the whole block, after all copies have arrived.
  __device__ __forceinline__ void give_back_maps() {
    if (threadIdx.x < 2 && maps[threadIdx.x] != nullptr) give_back(maps[threadIdx.x]);
  }

  // What the thread that copies keeps in registers.
  struct Source {
    const TensorMap *a, *b;
    int bytes;  // of a stage
  };

  // By that thread, after the maps are made.
  __device__ __forceinline__ Source source() const {
    acquire_tensor_map(maps[0]);
    acquire_tensor_map(maps[1]);
    return {maps[0], maps[1], rows_a * kTileK * 2 + kBytesB};
  }

  // By one thread: copies tiles from row `row` of A, column `column` of B and `at` of k on to a stage. B comes
  // in equal shares from the blocks of the cluster, each to all of them; and first, since it comes from farther away.
  template <bool IsWeights, int Blocks>
  __device__ __forceinline__ void copy(const Source& source, int stage, int batch, int row, int column, int at, unsigned block) {
    constexpr int share = TileN / Blocks;
    constexpr unsigned short all = (1 << Blocks) - 1;
    Barrier* const barrier = &full[stage];
    arrive_and_expect(barrier, source.bytes);
    unsigned char* const to = b[stage] + block * share * kTileK * 2;
    column += block * share;
    const auto copy_part = [&](unsigned char* part, int x, int y) {
      if constexpr (Blocks > 1) {
        copy_box_to(all, part, source.b, barrier, x, y, batch);
      } else {
        copy_box(part, source.b, barrier, x, y, batch);
      }
    };
    if constexpr (IsWeights) {
      copy_part(to, at, column);
    } else {
#pragma unroll
      for (int i = 0; i < share / 64; ++i) copy_part(to + i * kPartB, column + i * 64, at);
    }
    copy_box(a[stage], source.a, barrier, at, row, batch);
  }

  static __device__ __forceinline__ void meet_consumers() {
    asm volatile("bar.sync 1, %0;" ::"n"(128 * Together) : "memory");
  }

  // By `Producers` threads, element by element: the same, where operands cannot be copied in tiles.
  template <class In, bool IsWeights, int Producers>
  __device__ __forceinline__ void load(int thread, int stage, const In* from_a, const In* from_b, int m, int n, int k, int row, int column, int at) {
    load_rows<In, TileM, Producers>(thread, a[stage], from_a + static_cast<long long>(row) * k + at, k, m - row, k - at);
    if constexpr (IsWeights) {
      load_rows<In, TileN, Producers>(thread, b[stage], from_b + static_cast<long long>(column) * k + at, k, n - column, k - at);
    } else {
      for (int i = 0; i < TileN / 64; ++i) {
        const int first = column + i * 64;
        load_rows<In, kTileK, Producers>(thread, b[stage] + i * kPartB, from_b + static_cast<long long>(at) * n + first, n, k - at,
                              n - first);
      }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    arrive(&full[stage]);
  }

  template <class In, int Rows, int Producers>
  static __device__ __forceinline__ void load_rows(int thread, unsigned char* to, const In* from, int stride, int rows, int columns) {
    const int chunk = thread % 8, column = chunk * 8;
#pragma unroll 1
    for (int row = thread / 8; row < Rows; row += Producers / 8) {
      unsigned words[4] = {};
      const unsigned short* elements =
          reinterpret_cast<const unsigned short*>(from) + static_cast<long long>(row) * stride + column;
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (row < rows && column + i < columns) words[i / 2] |= static_cast<unsigned>(elements[i]) << i % 2 * 16;
      *reinterpret_cast<uint4*>(to + row * 128 + (chunk ^ row % 8) * 16) = uint4{words[0], words[1], words[2], words[3]};
    }
  }

  // By a warpgroup of consumers: begins the products of a stage for `Parts` times 64 rows of A, from the `part`-th on.
  template <class In, bool IsWeights, int Parts>
  __device__ __forceinline__ void multiply(float (&sums)[Parts][TileN / 2], int stage, int part, bool add) {
    constexpr int rows = 64 * kTileK * 2 >> 4;  // bytes of 64 rows of A; descriptors are in units of 16
    const unsigned long long tile_a = tile_along_k(a[stage]) + part * rows;
    const unsigned long long tile_b = IsWeights ? tile_along_k(b[stage]) : tile_across_k(b[stage], kPartB);
    warpgroup_arrive();
#pragma unroll
    for (int i = 0; i < kTileK / 16; ++i) {
      // The next 16 of k are 32 bytes on in rows along k, or 16 rows on in those across.
#pragma unroll
      for (int j = 0; j < Parts; ++j) {
        cuda_kernels::multiply<In, TileN, 0, !IsWeights>(sums[j], tile_a + j * rows + i * 2,
                                                         tile_b + i * (IsWeights ? 2 : 128), add || i > 0);
      }
    }
    warpgroup_commit();
  }
};

// Dynamic shared memory, which begins at a multiple of 1024 bytes, as swizzled tiles have to.
template <class T>
__device__ __forceinline__ T& dynamic_shared_memory() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return *reinterpret_cast<T*>(memory);
}

}  // namespace cuda_kernels
