// Barriers in shared memory on which threads and bulk copies arrive, for sm_90: #include "../include/mbarrier.cuh".
//
// A barrier counts arrivals, and bytes that the copy engine still owes. When both are zero its phase ends
// and the next begins; a waiter names the parity (0, 1, 0, ...) of the phase whose end it waits for. PTX
// ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
#pragma once

#include "shared_address.cuh"

namespace cuda_kernels {

using Barrier = unsigned long long;

// Of one thread, before any other uses the barrier; `publish_barriers` follows.
__device__ __forceinline__ void initialise(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

// Makes initialised barriers visible to the copy engine and to the cluster, whose threads then synchronise.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and says how many bytes copies will bring in this phase.
__device__ __forceinline__ void arrive_and_expect(Barrier* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Arrives on the same barrier of a block of this cluster. Not `.release.cluster`, for which the whole memory
// would be waited for each time: what the arriving thread read or wrote is ordered by other means.
__device__ __forceinline__ void arrive_at(Barrier* barrier, unsigned block_of_cluster) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(block_of_cluster)
      : "memory");
}

// Waits until the phase of this parity has ended. A build that defines CUDA_KERNELS_BOUNDED_WAITS traps
// where it waits for ever, in place of a hang.
__device__ __forceinline__ void wait(Barrier* barrier, unsigned parity) {
  unsigned done = 0;
#ifdef CUDA_KERNELS_BOUNDED_WAITS
  for (int polls = 0; !done; ++polls) {
    if (polls == 1 << 22) __trap();
#else
  while (!done) {
#endif
    asm volatile(
        "{\n"
        ".reg .pred ended;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
        "selp.u32 %0, 1, 0, ended;\n"
        "}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

// The place in a ring of stages, and the parity of the phase that its barriers are in.
template <int Stages>
struct Ring {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }

  __device__ __forceinline__ void advance(int by) {
    stage += by;
    parity ^= stage / Stages & 1;
    stage %= Stages;
  }
};

// All threads of all blocks of the cluster, of which none has written anything that another will read.
__device__ __forceinline__ void meet_cluster() {
  asm volatile(
      "barrier.cluster.arrive.relaxed;\n"
      "barrier.cluster.wait;" ::
          : "memory");
}

// All threads of all blocks of the cluster: what was written before they come is seen by who has waited.
__device__ __forceinline__ void come_to_cluster() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ __forceinline__ void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

__device__ __forceinline__ void synchronise_cluster() {
  come_to_cluster();
  wait_for_cluster();
}

__device__ __forceinline__ unsigned block_of_cluster() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

}  // namespace cuda_kernels
