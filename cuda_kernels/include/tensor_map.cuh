// TMA: tensor maps made on the device, loads, multicast and stores, for sm_90a:
// #include "../include/tensor_map.cuh".
//
// A host makes a tensor map with cuTensorMapEncodeTiled and passes it as a kernel's argument. IREE passes
// pointers and 32-bit numbers, so blocks make maps themselves: in shared memory, starting from zeros, with
// `tensormap.replace`; and copy them to global memory, where TMA reads maps. PTX ISA,
// "tensormap.replace", "tensormap.cp_fenceproxy".
//
// That memory is a global of the module. A map follows from its matrix and box alone, so a table caches maps by these: each
// is made once and never changed. A hit costs a load from the L2 cache, a miss about 3000 cycles. A block that finds
// neither a map nor a free entry claims a slot for this launch, and returns it after its copies. So concurrent launches
// do not conflict, and no operand is needed.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "mbarrier.cuh"

namespace cuda_kernels {

constexpr int kTensorMapBytes = 128;

struct alignas(kTensorMapBytes) TensorMap {
  unsigned long long opaque[kTensorMapBytes / 8];
};

// Slots that blocks claim, more than resident blocks need; a block that finds none free waits. The table comes after them.
// It is set-associative: a map may be in any slot of the set that its matrix hashes to.
constexpr int kTensorMapPlaces = 1024, kKnownMaps = 16384, kMapsOfSet = 8;
static __device__ TensorMap tensor_map_places[kTensorMapPlaces + kKnownMaps];
static __device__ unsigned claimed_places[kTensorMapPlaces];

// By one thread: claims a slot that probably no other block tries, and returns whether it was free. The atomic has a long
// latency, so use the result late.
struct Claim {
  unsigned place, taken;

  __device__ __forceinline__ Claim() {
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    place = (place * 4 + threadIdx.x / 32 % 4) % kTensorMapPlaces;
    ask();
  }
  // Relaxed: this block reads nothing that the last owner wrote, and its writes depend on the result.
  __device__ __forceinline__ void ask() {
    asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], 0, 1;"
                 : "=r"(taken)
                 : "l"(&claimed_places[place])
                 : "memory");
  }
  __device__ __forceinline__ unsigned wait() {
    while (taken != 0) {
      place = (place + 1) % kTensorMapPlaces;
      ask();
    }
    return place;
  }
};

// Whether a map's slot has to be returned: entries of the table stay.
__device__ __forceinline__ bool is_claimed(const TensorMap* map) { return map - tensor_map_places < kTensorMapPlaces; }

// By one thread, after every copy by this map is done.
__device__ __forceinline__ void give_back(const TensorMap* map) {
  if (!is_claimed(map)) return;
  asm volatile("st.release.gpu.global.u32 [%0], 0;" ::"l"(&claimed_places[map - tensor_map_places]) : "memory");
}

// A row-major matrix of a batch, and the box that one copy moves: rows of 128 bytes, with the 128-byte swizzle in shared
// memory. The matrix's address and row pitch have to be multiples of 16 bytes. Out of bounds, loads fill zeros and stores
// do nothing; but out-of-bounds rows load more slowly than others, so a box should not have more rows than the matrix.
struct TiledMatrix {
  const void* address;
  int columns, rows, batch;
  int box_rows;
  int heads = 0;  // or the matrices of so many heads of a batch, whose rows alternate: [batch, rows, heads, columns]
};

// The element type, as maps encode it.
template <class T>
constexpr int kElementType = 7;  // float
template <>
constexpr int kElementType<__half> = 6;
template <>
constexpr int kElementType<__nv_bfloat16> = 10;
// Numbers of 8 bits, whatever they are: loads fill zeros, which are zeros of all.
template <>
constexpr int kElementType<unsigned char> = 0;

// f32 that loads round to TF32: to 10 bits behind the point, to nearest.
struct Tf32 {
  float value;
};
template <>
constexpr int kElementType<Tf32> = 11;

// By one whole warp: makes the map of `matrix` at `place`, through `staging` in shared memory.
template <class T>
__device__ __forceinline__ void write_tensor_map(TensorMap* place, TensorMap* staging, const TiledMatrix& matrix) {
  const int lane = threadIdx.x % 32;
  reinterpret_cast<unsigned*>(staging)[lane] = 0;
  __syncwarp();
  const unsigned at = shared_address(staging);
  if (lane == 0) {
    const unsigned long long row_bytes = static_cast<unsigned long long>(matrix.columns) * sizeof(T);
    const unsigned long long step = matrix.heads == 0 ? row_bytes : row_bytes * matrix.heads;  // from row to row
    const unsigned long long matrix_bytes = step * matrix.rows;
#define CUDA_KERNELS_REPLACE(FIELD, TYPE, CONSTRAINT, ORDINAL, VALUE)                                      \
  asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." TYPE " [%0]" ORDINAL ", %1;" ::"r"(at), \
               CONSTRAINT(VALUE)                                                                           \
               : "memory")
    CUDA_KERNELS_REPLACE("global_address", "b64", "l", "", matrix.address);
    CUDA_KERNELS_REPLACE("box_dim", "b32", "r", ", 0", static_cast<int>(128 / sizeof(T)));
    CUDA_KERNELS_REPLACE("global_dim", "b32", "r", ", 0", matrix.columns);
    CUDA_KERNELS_REPLACE("global_stride", "b64", "l", ", 0", row_bytes);
    CUDA_KERNELS_REPLACE("element_stride", "b32", "r", ", 0", 1);
    CUDA_KERNELS_REPLACE("element_stride", "b32", "r", ", 1", 1);
    CUDA_KERNELS_REPLACE("element_stride", "b32", "r", ", 2", 1);
    if (matrix.heads == 0) {
      CUDA_KERNELS_REPLACE("rank", "b32", "n", "", 2);  // minus one
      CUDA_KERNELS_REPLACE("box_dim", "b32", "r", ", 1", matrix.box_rows);
      CUDA_KERNELS_REPLACE("box_dim", "b32", "r", ", 2", 1);
      CUDA_KERNELS_REPLACE("global_dim", "b32", "r", ", 1", matrix.rows);
      CUDA_KERNELS_REPLACE("global_dim", "b32", "r", ", 2", matrix.batch);
      CUDA_KERNELS_REPLACE("global_stride", "b64", "l", ", 1", matrix_bytes);
    } else {
      CUDA_KERNELS_REPLACE("rank", "b32", "n", "", 3);
      CUDA_KERNELS_REPLACE("box_dim", "b32", "r", ", 1", 1);
      CUDA_KERNELS_REPLACE("box_dim", "b32", "r", ", 2", matrix.box_rows);
      CUDA_KERNELS_REPLACE("box_dim", "b32", "r", ", 3", 1);
      CUDA_KERNELS_REPLACE("global_dim", "b32", "r", ", 1", matrix.heads);
      CUDA_KERNELS_REPLACE("global_dim", "b32", "r", ", 2", matrix.rows);
      CUDA_KERNELS_REPLACE("global_dim", "b32", "r", ", 3", matrix.batch);
      CUDA_KERNELS_REPLACE("global_stride", "b64", "l", ", 1", step);
      CUDA_KERNELS_REPLACE("global_stride", "b64", "l", ", 2", matrix_bytes);
      CUDA_KERNELS_REPLACE("element_stride", "b32", "r", ", 3", 1);
    }
    CUDA_KERNELS_REPLACE("elemtype", "b32", "n", "", kElementType<T>);
    CUDA_KERNELS_REPLACE("interleave_layout", "b32", "n", "", 0);
    CUDA_KERNELS_REPLACE("swizzle_mode", "b32", "n", "", 3);  // 128 bytes
    CUDA_KERNELS_REPLACE("fill_mode", "b32", "n", "", 0);     // zeros
#undef CUDA_KERNELS_REPLACE
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
          place),
      "r"(at)
      : "memory");
}

// The matrix and box of a map in the table, in words of which none is zero, and the state of the map. All words are zero
// until they are written, once. So a block that finds every word of its own matrix has not found parts of two.
struct alignas(32) KnownMap {
  static constexpr unsigned kNone = 0, kBegun = 1, kThere = 2;

  uint4 matrix;  // address, columns, rows
  unsigned batch, box_rows, type, state;
};
static __device__ KnownMap known_maps[kKnownMaps];

__device__ __forceinline__ uint4 load_relaxed(const void* from) {
  uint4 bits;
  asm volatile("ld.relaxed.gpu.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from)
               : "memory");
  return bits;
}

// By one whole warp: gets the map of `matrix` from the table, or makes it through `staging` in shared memory.
template <class T>
__device__ __forceinline__ const TensorMap* make_tensor_map(TensorMap* staging, const TiledMatrix& matrix) {
  const int lane = threadIdx.x % 32;
  const unsigned long long address = reinterpret_cast<unsigned long long>(matrix.address);
  const unsigned columns = matrix.columns, rows = matrix.rows, batch = matrix.batch, box_rows = matrix.box_rows;
  const uint4 own = {static_cast<unsigned>(address) + 1, static_cast<unsigned>(address >> 32) + 1, columns, rows};
  const unsigned type = kElementType<T> + 16u * matrix.heads;

  const unsigned mixed = own.x / 16 * 0x9e3779b1 ^ own.y * 0x85ebca6b ^ columns * 0xc2b2ae35 ^ rows * 0x27d4eb2f;
  const unsigned set = ((mixed ^ mixed >> 15) * 0x9e3779b1 >> 16) % (kKnownMaps / kMapsOfSet) * kMapsOfSet;
  KnownMap* const known = &known_maps[set + lane % kMapsOfSet];
  const uint4 first = load_relaxed(&known->matrix), second = load_relaxed(&known->batch);
  const bool is_own = first.x == own.x && first.y == own.y && first.z == columns && first.w == rows &&
                      second.x == batch && second.y == box_rows && second.z == type;
  const unsigned found = __ballot_sync(~0u, is_own && second.w == KnownMap::kThere);
  const unsigned begun = __ballot_sync(~0u, second.w == KnownMap::kBegun);
  const unsigned none = __ballot_sync(~0u, second.w == KnownMap::kNone);

  // Lanes may have seen the same entry at different times.
  int place = kTensorMapPlaces + set + (max(__ffs(found), 1) - 1) % kMapsOfSet;
  if (found == 0) {
    // Of all blocks that look for a map at the same time, one puts it into the table.
    KnownMap& entry = known_maps[set + (max(__ffs(none), 1) - 1) % kMapsOfSet];
    bool is_first = lane == 0 && none != 0 && begun == 0;
    if (is_first) is_first = atomicCAS(&entry.state, KnownMap::kNone, KnownMap::kBegun) == KnownMap::kNone;
    place = is_first ? kTensorMapPlaces + static_cast<int>(&entry - known_maps) : lane == 0 ? Claim().wait() : 0;
    place = __shfl_sync(~0u, place, 0);
    write_tensor_map<T>(&tensor_map_places[place], staging, matrix);
    if (is_first) {
      entry.matrix = own;
      entry.batch = batch, entry.box_rows = box_rows, entry.type = type;
      asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&entry.state), "r"(KnownMap::kThere) : "memory");
    }
  }
  return &tensor_map_places[place];
}

// By a thread before it copies, after it has synchronised with the warp that found or made the map.
__device__ __forceinline__ void acquire_tensor_map(const TensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

// Loads the box at (column, row, batch) into shared memory; its bytes arrive on the barrier.
__device__ __forceinline__ void tma_load(
    void* to, const TensorMap* map, Barrier* barrier, int column, int row, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(column), "r"(row), "r"(batch)
      : "memory");
}

// The same where the rows of heads alternate.
__device__ __forceinline__ void tma_load(
    void* to, const TensorMap* map, Barrier* barrier, int column, int row, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(column), "r"(head), "r"(row), "r"(batch)
      : "memory");
}

// The same, multicast to the same offset in the blocks of the cluster with a bit in `blocks`, and to the barrier of each.
__device__ __forceinline__ void tma_load_multicast(
    unsigned short blocks, void* to, const TensorMap* map, Barrier* barrier, int column, int row, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5, %6}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "h"(blocks), "r"(column), "r"(row), "r"(batch)
      : "memory");
}

// Stores a box of shared memory, written and fenced for the async proxy by this thread or those it has synchronised with,
// at (column, row, batch); elements out of bounds are not stored.
__device__ __forceinline__ void tma_store(const TensorMap* map, const void* from, int column, int row, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];\n"
      "cp.async.bulk.commit_group;" ::"l"(map),
      "r"(shared_address(from)), "r"(column), "r"(row), "r"(batch)
      : "memory");
}

// Waits until the stores of this thread have completed.
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Waits until all but the last `Pending` stores of this thread have read their shared memory.
template <int Pending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

}  // namespace cuda_kernels
