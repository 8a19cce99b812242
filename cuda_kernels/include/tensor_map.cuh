// Tensor maps, which the tensor memory accelerator copies tiles by, made on the device, for sm_90a:
// #include "include/tensor_map.cuh".
//
// A host makes a tensor map with cuTensorMapEncodeTiled and passes it as a kernel's argument. IREE passes
// pointers and 32-bit numbers, so a block makes its maps itself: in shared memory, starting from zeros,
// with `tensormap.replace`; and copies them to 128 bytes each of global memory that are the block's own,
// because that is where the accelerator reads maps. PTX ISA, "tensormap.replace", "tensormap.cp_fenceproxy".
//
// That memory is the module's: an array of places, of which a block claims one for each map and gives it back
// when it has copied. So launches that run at the same time do not meet, and no operand is needed.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "mbarrier.cuh"

namespace cuda_kernels {

constexpr int kTensorMapBytes = 128;

struct alignas(kTensorMapBytes) TensorMap {
  unsigned long long opaque[kTensorMapBytes / 8];
};

// More than blocks that run at once claim; who finds none free waits for one.
constexpr int kTensorMapPlaces = 1024;
static __device__ TensorMap tensor_map_places[kTensorMapPlaces];
static __device__ unsigned claimed_places[kTensorMapPlaces];

// By one thread: a place where most likely nobody else looks, and whether it was free. The answer takes a while:
// it is not to be used at once.
struct Claim {
  unsigned place, taken;

  __device__ __forceinline__ Claim() {
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    place = (place * 4 + threadIdx.x / 32 % 4) % kTensorMapPlaces;
    ask();
  }
  // Relaxed: nothing is read here that the last owner wrote, and what is written waits for the answer.
  __device__ __forceinline__ void ask() {
    asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], 0, 1;"
                 : "=r"(taken)
                 : "l"(&claimed_places[place])
                 : "memory");
  }
  __device__ __forceinline__ TensorMap* wait() {
    while (taken != 0) {
      place = (place + 1) % kTensorMapPlaces;
      ask();
    }
    return &tensor_map_places[place];
  }
};

// By one thread, after every copy by this map is done.
__device__ __forceinline__ void give_back(const TensorMap* map) {
  asm volatile("st.release.gpu.global.u32 [%0], 0;" ::"l"(&claimed_places[map - tensor_map_places]) : "memory");
}

// A matrix in a batch, rows one after another, and the box of it that one copy takes: rows of 128 bytes, which
// in shared memory have the 128-byte swizzle. The matrix's address and the bytes of a row have to be multiples of
// 16. What of a box is outside of the matrix is read as zeros and not written; but to read such rows takes longer
// than to read others, so a box should not have more rows than the matrix.
struct TiledMatrix {
  const void* address;
  int columns, rows, batch;
  int box_rows;
};

__device__ __forceinline__ void set_element_type(__half, unsigned map) {
  asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 6;" ::"r"(map) : "memory");
}

__device__ __forceinline__ void set_element_type(float, unsigned map) {
  asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 7;" ::"r"(map) : "memory");
}

__device__ __forceinline__ void set_element_type(__nv_bfloat16, unsigned map) {
  asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 10;" ::"r"(map) : "memory");
}

// By one whole warp: makes the map of `matrix` in a place that it claims, by way of `staging` in shared memory.
template <class T>
__device__ __forceinline__ TensorMap* make_tensor_map(TensorMap* staging, const TiledMatrix& matrix) {
  const int lane = threadIdx.x % 32;
  unsigned long long map = 0;
  reinterpret_cast<unsigned*>(staging)[lane] = 0;
  __syncwarp();
  const unsigned at = shared_address(staging);
  if (lane == 0) {
    Claim claim;
    const unsigned long long row_bytes = static_cast<unsigned long long>(matrix.columns) * sizeof(T);
    const unsigned long long matrix_bytes = row_bytes * matrix.rows;
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at),
                 "l"(matrix.address)
                 : "memory");
#define CUDA_KERNELS_REPLACE(FIELD, TYPE, CONSTRAINT, ORDINAL, VALUE)                                      \
  asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." TYPE " [%0], " ORDINAL ", %1;" ::"r"( \
                   at),                                                                                    \
               CONSTRAINT(VALUE)                                                                           \
               : "memory")
    // The rank is passed less one.
    asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 2;" ::"r"(at) : "memory");
    CUDA_KERNELS_REPLACE("box_dim", "b32", "r", "0", static_cast<int>(128 / sizeof(T)));
    CUDA_KERNELS_REPLACE("box_dim", "b32", "r", "1", matrix.box_rows);
    CUDA_KERNELS_REPLACE("box_dim", "b32", "r", "2", 1);
    CUDA_KERNELS_REPLACE("global_dim", "b32", "r", "0", matrix.columns);
    CUDA_KERNELS_REPLACE("global_dim", "b32", "r", "1", matrix.rows);
    CUDA_KERNELS_REPLACE("global_dim", "b32", "r", "2", matrix.batch);
    CUDA_KERNELS_REPLACE("global_stride", "b64", "l", "0", row_bytes);
    CUDA_KERNELS_REPLACE("global_stride", "b64", "l", "1", matrix_bytes);
    CUDA_KERNELS_REPLACE("element_stride", "b32", "r", "0", 1);
    CUDA_KERNELS_REPLACE("element_stride", "b32", "r", "1", 1);
    CUDA_KERNELS_REPLACE("element_stride", "b32", "r", "2", 1);
#undef CUDA_KERNELS_REPLACE
    set_element_type(T(), at);
    asm volatile("tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%0], 0;" ::"r"(at) : "memory");
    asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 3;" ::"r"(at) : "memory");
    asm volatile("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 0;" ::"r"(at) : "memory");
    map = reinterpret_cast<unsigned long long>(claim.wait());
  }
  map = __shfl_sync(~0u, map, 0);
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
          map),
      "r"(at)
      : "memory");
  return reinterpret_cast<TensorMap*>(map);
}

// By a thread that is about to copy, after it has synchronised with the warp that made the map.
__device__ __forceinline__ void acquire_tensor_map(const TensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

// Copies the box at (column, row, batch) to shared memory; its bytes arrive on the barrier.
__device__ __forceinline__ void copy_box(
    void* to, const TensorMap* map, Barrier* barrier, int column, int row, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(column), "r"(row), "r"(batch)
      : "memory");
}

// The same to the same place in several blocks of the cluster, those with a bit in `blocks`, and on the
// barrier of each.
__device__ __forceinline__ void copy_box_to(
    unsigned short blocks, void* to, const TensorMap* map, Barrier* barrier, int column, int row, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5, %6}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "h"(blocks), "r"(column), "r"(row), "r"(batch)
      : "memory");
}

// Copies a box from shared memory, which this thread or those it has synchronised with wrote and fenced for the
// copy engine, to (column, row, batch); what of it is outside of the matrix is left out.
__device__ __forceinline__ void write_box(const TensorMap* map, const void* from, int column, int row, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];\n"
      "cp.async.bulk.commit_group;" ::"l"(map),
      "r"(shared_address(from)), "r"(column), "r"(row), "r"(batch)
      : "memory");
}

// Waits until the boxes of this thread are in global memory.
__device__ __forceinline__ void wait_for_written_boxes() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Waits until all but the last `Pending` boxes of this thread were read from shared memory.
template <int Pending>
__device__ __forceinline__ void wait_for_boxes() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

}  // namespace cuda_kernels
