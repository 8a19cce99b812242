// The epilogue of gemm_sm90a.cu: from the accumulators of a warp to C, by way of shared memory and TMA. For sm_90a:
// #include "../include/epilogue_sm90a.cuh".
#pragma once

#include "pack.cuh"
#include "shared_address.cuh"
#include "tensor_map.cuh"

namespace cuda_kernels {

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

}  // namespace cuda_kernels
