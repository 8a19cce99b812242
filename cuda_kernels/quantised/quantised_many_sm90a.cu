// Products with quantised weights for many rows of x, y = x W^T, on warpgroup MMA with A in registers: for sm_90a. The
// memory layouts of W are those of ../include/quantised_formats.cuh.
//
//   producer warpgroup     TMA, cp.async ->  stages: 64 of k of x, swizzled, and of W, as it is
//   2 consumer warpgroups                     each Parts times 64 rows of W: words -> floats, A in registers; x: B
//
// A consumer makes the floats of the next step while tensor cores multiply the last ones, and the other consumer's
// products fill the gaps. Blocks are persistent, or, for few tiles, the `Split` blocks of a cluster take a part of k each,
// and reduce through distributed shared memory, in the order of the blocks.
//
// Memory traffic: W once for each 8 * Columns rows of x, and x once for each few rows of W that run at the same time.

#include "../include/mbarrier.cuh"
#include "../include/quantised_many.cuh"
#include "../include/tensor_map.cuh"
#include "../include/wgmma_registers.cuh"

// On older architectures the kernels are templates without instances, and cluster dims would be an error.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CUDA_KERNELS_CLUSTER(BLOCKS)
#else
#define CUDA_KERNELS_CLUSTER(BLOCKS) __cluster_dims__(BLOCKS, 1, 1)
#endif

namespace cuda_kernels {

constexpr int kManyThreads = 384;

// Arrives on a barrier when the thread's copies so far have.
__device__ __forceinline__ void arrive_after_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void sync_warpgroup(int group) {
  asm volatile("bar.sync %0, 128;" ::"r"(group + 2) : "memory");
}

__device__ __forceinline__ void sync_consumers() { asm volatile("bar.sync 1, 256;" ::: "memory"); }

// Stores four 8 x 8 matrices of 16 bits, transposed.
__device__ __forceinline__ void store_transposed(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

// Four floats at the same place in another block of the cluster.
__device__ __forceinline__ float4 load_of_block(const float* from, int block) {
  float4 v;
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n}"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
      : "r"(shared_address(from)), "r"(block));
  return v;
}

template <class Format, int Parts, int Columns, int Stages, int Split>
struct alignas(1024) ManyStorage {
  static constexpr int kRows = 128 * Parts, kBoxColumns = Columns < 64 ? Columns : 64;
  static constexpr int kPitch = kRows + 4;  // of partial sums
  unsigned char x[Stages][Columns * 128];
  unsigned char weights[Stages][kRows * Format::kPitch];
  unsigned char boxes[Split == 1 ? 2 : 0][kBoxColumns * 128];  // 64 rows of W of some rows of x, for the epilogue
  alignas(128) TensorMap staging;
  const TensorMap* map;  // of x, or null
  Barrier full[Stages], empty[Stages];
  static_assert(Split == 1 || Columns * kPitch * 4 <= Stages * (Columns * 128 + kRows * Format::kPitch), "room for sums");
};

template <class Format, int Parts, int Columns, int Stages, int Share, int Split, int Resident>
__device__ __forceinline__ void many(const typename Format::Element* __restrict__ x, const typename Format::Weights& of,
                                     typename Format::Element* __restrict__ y, int m) {
  using T = typename Format::Element;
  using Storage = ManyStorage<Format, Parts, Columns, Stages, Split>;
  constexpr int tile_rows = Storage::kRows;
  extern __shared__ __align__(1024) unsigned char raw[];
  Storage& memory = *reinterpret_cast<Storage*>(raw);
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  StageCopier<Format, tile_rows, Columns, 128> copier(x, of);
  if (threadIdx.x == 128) {
    for (int i = 0; i < Stages; ++i) initialise(&memory.full[i], 129), initialise(&memory.empty[i], 8 * Share);
    publish_barriers();
  }
  constexpr int box = Columns / Share;  // rows of x that a block copies
  if (warp == 0) {
    const TensorMap* map = nullptr;
    if (copier.whole) map = make_tensor_map<T>(&memory.staging, {x, of.k, m, 1, min(m, box)});
    if (lane == 0) memory.map = map;
  }
  __syncthreads();
  if constexpr (Share > 1) cluster_sync();

  const ManyTiles tiles((of.n + Share - 1) / Share, m, tile_rows, Columns);
  const int rank = Share * Split > 1 ? cluster_rank() : 0;
  const int first = blockIdx.x / (Share * Split), stride = gridDim.x / (Share * Split);
  const int all = (of.k + kStepK - 1) / kStepK, each = (all + Split - 1) / Split;
  const int first_step = Split > 1 ? rank * each : 0;
  const int steps = max(1, min(each, all - first_step));  // past the end, one of zeros
  const bool packs = of.n % 8 == 0 && aligned(y);
  PipelineState<Stages> state;
  int row, column;
  const auto place = [&](int index) {
    tiles.place(index, row, column);
    row = (Share > 1 ? row * Share + rank : row) * tile_rows, column *= Columns;
  };

  if (warp < 4) {
    deallocate_registers<48>();
    const TensorMap* const map = memory.map;
    if (threadIdx.x == 0 && map != nullptr) acquire_tensor_map(map);
    for (int index = first; index < tiles.count(); index += stride) {
      place(index);
      copier.start(x, of, m, row, column);
#pragma unroll 1
      for (int i = 0; i < steps; ++i, state.advance()) {
        Barrier* const full = &memory.full[state.stage];
        wait(&memory.empty[state.stage], state.phase ^ 1);
        if (map != nullptr) {
          if (threadIdx.x == 0) {
            arrive_and_expect(full, min(m, box) * Share * 128);
            unsigned char* const to = memory.x[state.stage] + (Share > 1 ? rank * box * 128 : 0);
            const int at = (first_step + i) * kStepK, from = column + (Share > 1 ? rank * box : 0);
            if constexpr (Share > 1) {
              tma_load_multicast((1 << Share) - 1, to, map, full, at, from, 0);
            } else {
              tma_load(to, map, full, at, from, 0);
            }
          }
          copier.copy_weights(threadIdx.x, first_step + i, memory.weights[state.stage]);
          arrive_after_copies(full);
        } else {
          copier.copy_any(threadIdx.x, first_step + i, memory.x[state.stage], memory.weights[state.stage]);
          asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma reads what threads wrote
          if (threadIdx.x == 0) arrive(full);
          arrive(full);
        }
      }
    }
    if constexpr (Split > 1) cluster_sync(), cluster_sync();  // as the consumers, who have registers for the reduction
  } else {
    allocate_registers<Resident == 1 ? 224 : 96>();
    const int group = warp / 4 - 1, g = lane / 4, t = lane % 4, own_row = 64 * group + 16 * (warp % 4) + g;
    const auto release = [&](int stage) {
      __syncwarp();  // all lanes have read the stage
      if constexpr (Share > 1) {
        if (lane < Share) arrive_at(&memory.empty[stage], lane);
      } else {
        if (lane == 0) arrive(&memory.empty[stage]);
      }
    };
    for (int index = first; index < tiles.count(); index += stride) {
      place(index);
      float sums[Parts][Columns / 2];
      unsigned now[Parts][4][4], next[Parts][4][4];
      Format formats[Parts];
#pragma unroll
      for (int p = 0; p < Parts; ++p) {
        formats[p].start(of, row + 128 * p + own_row, first_step);
        formats[p].request();
      }
      const auto expand = [&](unsigned (&to)[Parts][4][4]) {
        wait(&memory.full[state.stage], state.phase);
#pragma unroll
        for (int p = 0; p < Parts; ++p) {
          const unsigned char* const from = memory.weights[state.stage] + (128 * p + own_row) * Format::kPitch;
          formats[p].fragments(from, 0, t, reinterpret_cast<unsigned(&)[2][4]>(to[p][0]));
          formats[p].fragments(from, 1, t, reinterpret_cast<unsigned(&)[2][4]>(to[p][2]));
          formats[p].request();
        }
      };
      expand(now);
      int i = 0;
#pragma unroll 1
      do {
        const unsigned long long b = descriptor_k_major(memory.x[state.stage]);
        warpgroup_arrive();
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
          for (int p = 0; p < Parts; ++p)
            wgmma_from_registers<T, Columns, 0>(sums[p], now[p][j], b + 2 * j, i > 0 || j > 0);
        warpgroup_commit();
        const int last = state.stage;
        state.advance();
        if (i + 1 < steps) expand(next);
        warpgroup_wait<0>();
        release(last);
#pragma unroll
        for (int p = 0; p < Parts; ++p)
#pragma unroll
          for (int j = 0; j < 16; ++j) now[p][j / 4][j % 4] = next[p][j / 4][j % 4];
      } while (++i < steps);
      // The compiler may not move what follows before the wait.
#pragma unroll
      for (int p = 0; p < Parts; ++p)
#pragma unroll
        for (int s = 0; s < Columns / 2; ++s) asm volatile("" : "+f"(sums[p][s])::"memory");
      if constexpr (Format::kScalesRows) {
#pragma unroll
        for (int p = 0; p < Parts; ++p)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const float scale = Format::row_scale(of, min(row + 128 * p + own_row + 8 * h, of.n - 1));
#pragma unroll
            for (int s = 0; s < Columns / 8; ++s) sums[p][4 * s + 2 * h] *= scale, sums[p][4 * s + 2 * h + 1] *= scale;
          }
      }
      if constexpr (Split == 1) {
        constexpr int box_columns = Storage::kBoxColumns;
        unsigned char* const boxes = memory.boxes[group];
        const int thread = threadIdx.x % 128, chunk = thread % 8;
#pragma unroll
        for (int p = 0; p < Parts; ++p)
#pragma unroll
          for (int from = 0; from < Columns; from += box_columns) {
            if (column + from >= m) break;
            sync_warpgroup(group);  // the last box has been read
#pragma unroll
            for (int s = 0; s < box_columns / 8; s += 2) {
              const float* const v = &sums[p][(from / 8 + s) * 4];
              const int at = 8 * s + lane / 16 * 8 + lane % 8;
              store_transposed(shared_address(boxes) + swizzled(at, 2 * (warp % 4) + lane / 8 % 2), packed_pair<T>(v[0], v[1]),
                               packed_pair<T>(v[2], v[3]), packed_pair<T>(v[4], v[5]), packed_pair<T>(v[6], v[7]));
            }
            sync_warpgroup(group);
            const int at_row = row + 128 * p + 64 * group + 8 * chunk;
#pragma unroll
            for (int c = thread / 8; c < box_columns; c += 16)
              if (column + from + c < m && at_row < of.n)
                store_eight(y + static_cast<size_t>(column + from + c) * of.n,
                            *reinterpret_cast<const uint4*>(boxes + swizzled(c, chunk)), at_row, of.n, packs);
          }
      } else {
        float* const partial = reinterpret_cast<float*>(raw);
        sync_consumers();  // the stages have been read
#pragma unroll
        for (int p = 0; p < Parts; ++p)
#pragma unroll
          for (int s = 0; s < Columns / 8; ++s)
#pragma unroll
            for (int e = 0; e < 4; ++e)
              partial[(8 * s + 2 * t + e % 2) * Storage::kPitch + 128 * p + own_row + e / 2 * 8] = sums[p][4 * s + e];
        cluster_sync();
        for (int s = rank * 256 + threadIdx.x - 128; s < Columns * tile_rows / 8; s += 256 * Split) {
          const int c = s / (tile_rows / 8), r = s % (tile_rows / 8) * 8;
          if (column + c >= m || row + r >= of.n) continue;
          float4 low = {0.0f, 0.0f, 0.0f, 0.0f}, high = low;
#pragma unroll
          for (int b = 0; b < Split; ++b) {
            const float* const from = partial + c * Storage::kPitch + r;
            const float4 v = load_of_block(from, b), w = load_of_block(from + 4, b);
            low.x += v.x, low.y += v.y, low.z += v.z, low.w += v.w;
            high.x += w.x, high.y += w.y, high.z += w.z, high.w += w.w;
          }
          const float values[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
          store_eight(y + static_cast<size_t>(column + c) * of.n, packed<T>(values), row + r, of.n, packs);
        }
        cluster_sync();  // no block exits while others read its sums
      }
    }
  }
  // No block exits before the copies of others into it, and their arrivals, nor returns a map that is in use.
  if constexpr (Share > 1) cluster_sync();
  __syncthreads();
  if (threadIdx.x == 0 && memory.map != nullptr) give_back(memory.map);
}

// Of layouts without scales of their own, with scales, and with zeros. `parts` is 0 where there is none.
template <class Format, int Parts, int Columns, int Stages, int Share, int Split, int Resident>
__global__ void CUDA_KERNELS_CLUSTER(Share * Split) __launch_bounds__(kManyThreads, Resident)
    quantised_many_blocks(const typename Format::Element* x, const unsigned char* weight, typename Format::Element* y,
                          int batch, int n, int k, int parts) {
  many<Format, Parts, Columns, Stages, Share, Split, Resident>(x, {weight, nullptr, nullptr, n, k, parts}, y, batch);
}

template <class Format, class Byte, class Scale, int Parts, int Columns, int Stages, int Share, int Split, int Resident>
__global__ void CUDA_KERNELS_CLUSTER(Share * Split) __launch_bounds__(kManyThreads, Resident)
    quantised_many(const typename Format::Element* x, const Byte* weight, const Scale* scales,
                   typename Format::Element* y, int batch, int n, int k, int parts) {
  many<Format, Parts, Columns, Stages, Share, Split, Resident>(
      x, {reinterpret_cast<const unsigned char*>(weight), scales, nullptr, n, k, parts}, y, batch);
}

template <class Format, int Parts, int Columns, int Stages, int Share, int Split, int Resident>
__global__ void CUDA_KERNELS_CLUSTER(Share * Split) __launch_bounds__(kManyThreads, Resident)
    quantised_many_zeros(const typename Format::Element* x, const unsigned char* weight,
                         const typename Format::Element* scales, const typename Format::Element* zeros,
                         typename Format::Element* y, int batch, int n, int k, int parts) {
  many<Format, Parts, Columns, Stages, Share, Split, Resident>(x, {weight, scales, zeros, n, k, parts}, y, batch);
}

}  // namespace cuda_kernels
