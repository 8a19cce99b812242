// The mainloop pipeline that gemm_sm90a.cu and gemm_split_sm90a.cu share: tiles of A and B on their way from global
// memory to the tensor cores. For sm_90a: #include "../include/gemm_sm90a.cuh".
#pragma once

#include "activation.cuh"
#include "mbarrier.cuh"
#include "mma.cuh"
#include "pack.cuh"
#include "tensor_map.cuh"
#include "wgmma.cuh"

namespace cuda_kernels {

// What a stage has of k: rows of 128 bytes.
template <class In>
constexpr int kStageK = 128 / sizeof(In);

// The type of operands in tensor maps: TMA rounds f32 to TF32, to nearest, as it loads.
template <class In>
struct Operand {
  using Type = In;
};
template <>
struct Operand<float> {
  using Type = Tf32;
};

// The stages in shared memory. A stage holds 128 bytes of k, 64 numbers of 16 bits: the tile of A K-major, as TileM rows of 128 bytes; that of B the same
// way if it is weights, else MN-major, as boxes of 64 columns, each 64 rows of k of 128 bytes. `TileWarpgroups` consumer
// warpgroups compute a tile: 1 with the ping-pong schedule.
template <int TileM, int TileN, int Stages, int TileWarpgroups = TileM / 64>
struct alignas(1024) Pipeline {
  static constexpr int kBytesA = TileM * kTileK * 2, kBytesB = TileN * kTileK * 2;
  static constexpr int kPartB = 64 * kTileK * 2;  // bytes of 64 columns

  unsigned char a[Stages][kBytesA];
  unsigned char b[Stages][kBytesB];
  TensorMap staging[2];
  const TensorMap* maps[2];
  int rows_a;  // rows that are loaded of each tile of A, at most as many as A has
  Barrier full[Stages];   // on which the loads of a stage arrive
  Barrier empty[Stages];  // on which its consumers arrive when they release it

  // Whether TMA can load tiles: their addresses and row pitches are multiples of 16 bytes.
  template <class In, bool IsWeights>
  static __device__ __forceinline__ bool can_use_tma(const In* source_a, const In* source_b, int n, int k) {
    return aligned(source_a, source_b) && k > 0 && k % kPack<In> == 0 && (IsWeights || n % kPack<In> == 0);
  }

  // By one thread, before the block synchronises. Each block multicasts its loads to the `Cluster` blocks. If TMA cannot
  // load the operands, `ProducerThreads` threads do.
  template <int Cluster, int ProducerThreads>
  __device__ __forceinline__ void initialise(bool uses_tma, int m) {
    for (int stage = 0; stage < Stages; ++stage) {
      cuda_kernels::initialise(&full[stage], uses_tma ? 1 : ProducerThreads);
      cuda_kernels::initialise(&empty[stage], TileWarpgroups * Cluster);
    }
    publish_barriers();
    rows_a = min(m, TileM);
    if (!uses_tma) maps[0] = maps[1] = nullptr;
  }

  // By two producer warps, 0 and 1; each makes one of the maps.
  template <class In, bool IsWeights, int Cluster>
  __device__ __forceinline__ void make_maps(int warp, const In* source_a, const In* source_b, int batch, int m, int n, int k) {
    using Type = typename Operand<In>::Type;
    const TensorMap* map;
    if (warp == 0) {
      map = make_tensor_map<Type>(&staging[0], {source_a, k, m, batch, min(m, TileM)});
    } else if constexpr (IsWeights) {
      map = make_tensor_map<Type>(&staging[1], {source_b, k, n, batch, TileN / Cluster});
    } else {
      map = make_tensor_map<Type>(&staging[1], {source_b, n, k, batch, kStageK<In>});
    }
    if (threadIdx.x % 32 == 0) maps[warp] = map;
  }

  // By the whole block, after all loads have arrived.
  __device__ __forceinline__ void give_back_maps() {
    if (threadIdx.x < 2 && maps[threadIdx.x] != nullptr) give_back(maps[threadIdx.x]);
  }

  // What the producer thread keeps in registers.
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

  // By the producer thread: loads the tiles from row `row` of A, column `column` of B and `at` of k on into a stage. Each
  // block of the cluster loads an equal share of B and multicasts it to all; B goes first, because it takes longer to arrive.
  // `Columns` of B are a box where B is [k, n]: 128 bytes.
  template <bool IsWeights, int Cluster, int Columns = kTileK>
  __device__ __forceinline__ void tma_load_stage(const Source& source, int stage, int batch, int row, int column, int at, unsigned block) {
    constexpr int share = TileN / Cluster;
    constexpr unsigned short all = (1 << Cluster) - 1;
    Barrier* const barrier = &full[stage];
    arrive_and_expect(barrier, source.bytes);
    unsigned char* const to = b[stage] + block * share * kTileK * 2;
    column += block * share;
    const auto load_box = [&](unsigned char* part, int x, int y) {
      if constexpr (Cluster > 1) {
        tma_load_multicast(all, part, source.b, barrier, x, y, batch);
      } else {
        tma_load(part, source.b, barrier, x, y, batch);
      }
    };
    if constexpr (IsWeights) {
      load_box(to, at, column);
    } else {
#pragma unroll
      for (int i = 0; i < share / Columns; ++i) load_box(to + i * Columns * 128, column + i * Columns, at);
    }
    tma_load(a[stage], source.a, barrier, at, row, batch);
  }

  static __device__ __forceinline__ void sync_consumers() {
    asm volatile("bar.sync 1, %0;" ::"n"(128 * TileWarpgroups) : "memory");
  }

  // The same by `ProducerThreads` threads, element by element, for operands that TMA cannot load.
  template <class In, bool IsWeights, int ProducerThreads>
  __device__ __forceinline__ void load_stage(int thread, int stage, const In* from_a, const In* from_b, int m, int n, int k, int row, int column, int at) {
    load_rows<In, TileM, ProducerThreads>(thread, a[stage], from_a + static_cast<long long>(row) * k + at, k, m - row, k - at);
    if constexpr (IsWeights) {
      load_rows<In, TileN, ProducerThreads>(thread, b[stage], from_b + static_cast<long long>(column) * k + at, k, n - column, k - at);
    } else {
      for (int i = 0; i < TileN / kStageK<In>; ++i) {
        const int first = column + i * kStageK<In>;
        load_rows<In, kStageK<In>, ProducerThreads>(thread, b[stage] + i * kStageK<In> * 128, from_b + static_cast<long long>(at) * n + first, n, k - at,
                              n - first);
      }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    arrive(&full[stage]);
  }

  // What tensor cores multiply.
  template <class In>
  static __device__ __forceinline__ unsigned operand_bits(const In& element) {
    if constexpr (sizeof(In) == 4) {
      return rounded_to_tf32(element);
    } else {
      unsigned bits = 0;
      memcpy(&bits, &element, sizeof(In));
      return bits;
    }
  }

  template <class In, int Rows, int ProducerThreads>
  static __device__ __forceinline__ void load_rows(int thread, unsigned char* to, const In* from, int stride, int rows, int columns) {
    constexpr int bits = 8 * sizeof(In);
    const int chunk = thread % 8, column = chunk * kPack<In>;
#pragma unroll 1
    for (int row = thread / 8; row < Rows; row += ProducerThreads / 8) {
      unsigned words[4] = {};
      const In* const elements = from + static_cast<long long>(row) * stride + column;
#pragma unroll
      for (int i = 0; i < kPack<In>; ++i)
        if (row < rows && column + i < columns) words[i * bits / 32] |= operand_bits(elements[i]) << i * bits % 32;
      *reinterpret_cast<uint4*>(to + row * 128 + (chunk ^ row % 8) * 16) = uint4{words[0], words[1], words[2], words[3]};
    }
  }

  // By a consumer warpgroup: issues the wgmmas of a stage, for `WarpgroupTiles` times 64 rows of A from the `part`-th on.
  template <class In, bool IsWeights, int WarpgroupTiles>
  __device__ __forceinline__ void wgmma_stage(float (&accumulators)[WarpgroupTiles][TileN / 2], int stage, int part, bool add) {
    constexpr int rows = 64 * kTileK * 2 >> 4;  // bytes of 64 rows of A; descriptors are in units of 16
    const unsigned long long tile_a = descriptor_k_major(a[stage]) + part * rows;
    const unsigned long long tile_b = IsWeights ? descriptor_k_major(b[stage]) : descriptor_mn_major(b[stage], kPartB);
    warpgroup_arrive();
#pragma unroll
    for (int i = 0; i < kTileK / 16; ++i) {
      // An instruction takes 32 bytes of k: 16 numbers of 16 bits. The next are 32 bytes on in rows along k, or 16 rows on in
      // those across.
#pragma unroll
      for (int j = 0; j < WarpgroupTiles; ++j) {
        cuda_kernels::wgmma<In, TileN, 0, !IsWeights>(accumulators[j], tile_a + j * rows + i * 2,
                                                         tile_b + i * (IsWeights ? 2 : 128), add || i > 0);
      }
    }
    warpgroup_commit();
  }
};

}  // namespace cuda_kernels
