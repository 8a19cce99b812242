// Clusters of blocks, for sm_90, to be included by kernels: #include "../include/cluster.cuh".
#pragma once

#include "shared_address.cuh"

// On older architectures the kernels are templates without instances, and cluster dims would be an error.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CUDA_KERNELS_CLUSTER(BLOCKS)
#else
#define CUDA_KERNELS_CLUSTER(BLOCKS) __cluster_dims__(BLOCKS, 1, 1)
#endif

namespace cuda_kernels {

// Cluster barrier without memory ordering, for when no block reads what another wrote before it.
__device__ __forceinline__ void cluster_meet() {
  asm volatile(
      "barrier.cluster.arrive.relaxed;\n"
      "barrier.cluster.wait;" ::
          : "memory");
}

// Cluster barrier: writes before the arrive are visible after the wait.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Loads 4 floats from the shared memory of a block of the cluster: `from` is their place in this block's.
__device__ __forceinline__ void load_of_block(const float* from, int block, float* to) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n"
      "}"
      : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
      : "r"(shared_address(from)), "r"(block)
      : "memory");
}

// A value, of whole words, in the shared memory of another block of the cluster, at the address of this block's own.
template <class Value>
__device__ __forceinline__ Value from_block(const Value& own, unsigned rank) {
  constexpr int words = sizeof(Value) / 4;
  unsigned found[words];
#pragma unroll
  for (int i = 0; i < words; ++i)
    asm volatile(
        "{\n"
        ".reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %1, %2;\n"
        "ld.shared::cluster.b32 %0, [remote];\n"
        "}"
        : "=r"(found[i])
        : "r"(shared_address(&own) + 4 * i), "r"(rank)
        : "memory");
  Value value;
  memcpy(&value, found, sizeof(value));
  return value;
}

}  // namespace cuda_kernels
