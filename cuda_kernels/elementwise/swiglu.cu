// SwiGLU: y = silu(gate) * up, with silu(a) = a / (1 + exp(-a)), for f32, f16 and bf16, in f32.
//
// Memory traffic: two reads and one write of each element.

#include "../include/activation.cuh"
#include "../include/elementwise.cuh"

namespace cuda_kernels {

template <class T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads) swiglu(const T* __restrict__ gate,
                                                  const T* __restrict__ up,
                                                  T* __restrict__ y,
                                                  long long count) {
  const auto gated = [](float a, float b) { return Silu::of<T>(a) * b; };
  map<Threads, Packs>(count, gated, y, gate, up);
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
template __global__ void swiglu<float, 128, 2>(const float*, const float*, float*, long long);
template __global__ void swiglu<__half, 128, 2>(const __half*, const __half*, __half*, long long);
template __global__ void swiglu<__nv_bfloat16, 128, 2>(const __nv_bfloat16*,
                                                       const __nv_bfloat16*,
                                                       __nv_bfloat16*,
                                                       long long);
#endif

}  // namespace cuda_kernels
