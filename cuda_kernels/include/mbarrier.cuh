// Transaction barriers (mbarrier) in shared memory, on which threads and bulk copies arrive, for sm_90: #include "../include/mbarrier.cuh".
//
// A barrier counts pending arrivals, and transaction bytes of copies. When both are zero its phase completes and the next
// begins; a waiter names the phase bit (0, 1, 0, ...) of the phase it waits for. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
#pragma once

#include "cluster.cuh"
#include "shared_address.cuh"

namespace cuda_kernels {

using Barrier = unsigned long long;

// Called by one thread before any other uses the barrier; `publish_barriers` follows.
__device__ __forceinline__ void initialise(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

// Makes initialised barriers visible to the async proxy and to the cluster. The cluster then synchronises.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and expects so many transaction bytes in this phase (arrive.expect_tx).
__device__ __forceinline__ void arrive_and_expect(Barrier* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Arrives when all copies (cp.async) that this thread has issued are done.
__device__ __forceinline__ void arrive_after_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Arrives on the same barrier of another block of the cluster, without `.release.cluster`, which would wait for all
// memory operations each time: other means order the arriving thread's reads and writes.
__device__ __forceinline__ void arrive_at(Barrier* barrier, unsigned cluster_rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(cluster_rank)
      : "memory");
}

// Waits until the phase with this bit has completed. A build that defines CUDA_KERNELS_BOUNDED_WAITS traps
// instead of hanging if the wait never ends.
__device__ __forceinline__ void wait(Barrier* barrier, unsigned phase) {
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
        : "r"(shared_address(barrier)), "r"(phase)
        : "memory");
  }
}

// A stage of the circular buffer, and the phase bit of its barriers.
template <int Stages>
struct PipelineState {
  int stage = 0;
  unsigned phase = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      phase ^= 1;
    }
  }

  __device__ __forceinline__ void advance(int by) {
    stage += by;
    phase ^= stage / Stages & 1;
    stage %= Stages;
  }
};

}  // namespace cuda_kernels
