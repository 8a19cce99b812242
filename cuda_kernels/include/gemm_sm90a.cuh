// What the kernels of gemm_sm90a.cu and gemm_split_sm90a.cu share: tiles of A and B on their way from global
// memory to the tensor cores. For sm_90a: #include "include/gemm_sm90a.cuh".
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
constexpr int kEarly = 4;   // first steps whose tiles the consumers' threads load, before there are tensor maps

// Waits until at most `rest` of this thread's groups are under way, `Most` or fewer.
template <int Most>
__device__ __forceinline__ void wait_for_all_but(int rest) {
  if constexpr (Most > 0) {
    if (rest < Most) return wait_for_all_but<Most - 1>(rest);
  }
  wait_for_groups<Most>();
}

// The stages of the pipeline in shared memory. A stage holds 64 of k: the tile of A as 128 rows of 128 bytes;
// that of B, if it is weights, the same way, else as parts of 64 columns, each 64 rows of k of 128 bytes.
//
// To make tensor maps takes about 3000 cycles. So the first steps' tiles are brought by cp.async of the threads that
// will wait for them.
template <int TileM, int TileN, int Stages>
struct alignas(1024) Pipeline {
  static constexpr int kConsumers = TileM / 64;  // warpgroups, each with 64 rows of C
  static constexpr int kBytesA = TileM * kTileK * 2, kBytesB = TileN * kTileK * 2;
  static constexpr int kPartB = 64 * kTileK * 2;  // bytes of 64 columns

  unsigned char a[Stages][kBytesA];
  unsigned char b[Stages][kBytesB];
  TensorMap staging[2];
  const TensorMap* maps[2];
  int rows_a;  // that are copied of each tile of A: no more than there are
  int filled;  // stages by the consumers
  Barrier full[Stages];   // on which the copies of a stage arrive
  Barrier empty[Stages];  // on which its consumers do

  // Whether tiles can be copied: rows of whole 16 bytes at aligned addresses.
  template <class In, bool IsWeights>
  static __device__ __forceinline__ bool can_copy(const In* source_a, const In* source_b, int n, int k) {
    return aligned(source_a, source_b) && k > 0 && k % 8 == 0 && (IsWeights || n % 8 == 0);
  }

  // By one thread, before the block synchronises: `Blocks` of the cluster read what each copies. The first `early`
  // stages are filled by the consumers first, for which a phase is over. Where operands cannot be copied in tiles,
  // `Producers` threads load them.
  template <int Blocks, int Producers>
  __device__ __forceinline__ void initialise(bool copied, int early, int m) {
    for (int stage = 0; stage < Stages; ++stage) {
      cuda_kernels::initialise(&full[stage], copied ? 1 : Producers);
      cuda_kernels::initialise(&empty[stage], kConsumers * Blocks);
    }
    publish_barriers();
    for (int stage = 0; stage < early; ++stage) arrive(&full[stage]);
    rows_a = min(m, TileM);
    filled = early;
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
  __device__ __forceinline__ Source source() {
    acquire_tensor_map(maps[0]);
    acquire_tensor_map(maps[1]);
    // Over since the beginning; but who arrives again has waited, or compute-sanitizer finds that it has not.
    for (int stage = 0; stage < filled; ++stage) wait(&full[stage], 0);
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

  // How many first steps of `steps` are brought by the consumers.
  static __device__ __forceinline__ int early(bool copied, int steps) {
    return copied ? min(steps, kEarly < Stages ? kEarly : Stages) : 0;
  }

  // By the consumers: begin to bring the tiles of the first `count` steps, from `at` of k on, each as one group. What
  // is outside of the matrices along k is zeros; what else is, and only leads to sums that are not written, is left.
  template <class In, bool IsWeights>
  __device__ __forceinline__ void begin(int thread, int count, const In* from_a, const In* from_b, int m, int n, int k, int row, int column, int at) {
    constexpr int threads = 128 * kConsumers;
#pragma unroll
    for (int i = 0; i < kEarly; ++i, at += kTileK) {
      if (i < count) {
        if constexpr (IsWeights) {
          begin_rows<In, TileN, threads>(thread, b[i], from_b + static_cast<long long>(column) * k + at, k, n - column, k - at);
        } else {
#pragma unroll
          for (int j = 0; j < TileN / 64; ++j) {
            const int first = column + j * 64;
            const In* const from = from_b + static_cast<long long>(at) * n + first;
            begin_rows<In, kTileK, threads>(thread, b[i] + j * kPartB, from, n, k - at, n - first, kTileK);
          }
        }
        begin_rows<In, TileM, threads>(thread, a[i], from_a + static_cast<long long>(row) * k + at, k, m - row, k - at);
      }
      end_group();
    }
  }

  // Rows of 64 elements as copies with the 128-byte swizzle leave them. Of the first `zeros` rows those that are not
  // there are zeros.
  template <class In, int Rows, int Threads>
  static __device__ __forceinline__ void begin_rows(int thread, unsigned char* to, const In* from, int stride, int rows, int columns, int zeros = 0) {
    const int chunk = thread % 8;
#pragma unroll
    for (int row = thread / 8; row < Rows; row += Threads / 8) {
      const bool inside = row < rows && chunk * 8 < columns;
      copy_async(shared_address(to) + row * 128 + (chunk ^ row % 8) * 16,
                 from + (inside ? static_cast<long long>(row) * stride + chunk * 8 : 0), inside ? 16 : 0,
                 row < max(rows, zeros));
    }
  }

  // By the consumers: waits for what they began to bring for step `i`.
  __device__ __forceinline__ void wait_for_early(int i) {
    wait_for_all_but<kEarly - 1>(kEarly - 1 - i);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    meet_consumers();
  }

  static __device__ __forceinline__ void meet_consumers() {
    asm volatile("bar.sync 1, %0;" ::"n"(128 * kConsumers) : "memory");
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

  // By a warpgroup of consumers, the `group`-th: begins its products of a stage.
  template <class In, bool IsWeights>
  __device__ __forceinline__ void multiply(float (&sums)[TileN / 2], int stage, int group, bool add) {
    const unsigned long long tile_a = tile_along_k(a[stage] + group * 64 * kTileK * 2);
    const unsigned long long tile_b = IsWeights ? tile_along_k(b[stage]) : tile_across_k(b[stage], kPartB);
    warpgroup_arrive();
#pragma unroll
    for (int i = 0; i < kTileK / 16; ++i) {
      // The next 16 of k are 32 bytes on in rows along k, or 16 rows on in those across; in units of 16 bytes.
      cuda_kernels::multiply<In, TileN, 0, !IsWeights>(sums, tile_a + i * 2, tile_b + i * (IsWeights ? 2 : 128),
                                                       add || i > 0);
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
