// Clusters of thread blocks: y[i] = x[i] of the block beside, by way of its shared memory.

const int BLOCK = 64;

#if __CUDA_ARCH__ >= 900
__device__ unsigned shared_address(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// What another block of the cluster has at the same place of its shared memory (PTX ISA, mapa).
__device__ float load_from(unsigned address, unsigned rank) {
  unsigned there;
  float value;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
  return value;
}

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;"
               ::: "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) swapped_in_clusters(const float *x, float *y) {
  __shared__ float staged[BLOCK];
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  int i = blockIdx.x * BLOCK + threadIdx.x;
  staged[threadIdx.x] = x[i];
  cluster_sync();
  y[i] = load_from(shared_address(&staged[threadIdx.x]), rank ^ 1);
  cluster_sync();  // no block ends while its neighbour reads its shared memory
}
#endif

extern "C" __global__ void swapped(const float *x, float *y) {
  y[blockIdx.x * BLOCK + threadIdx.x] = x[(blockIdx.x ^ 1) * BLOCK + threadIdx.x];
}
