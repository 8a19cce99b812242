// Addresses in shared memory, to be included by kernels: #include "../include/shared_address.cuh".
#pragma once

namespace cuda_kernels {

// A shared-memory address in the form that instructions take.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

}  // namespace cuda_kernels
