// GELU, x * (the standard normal distribution below x), for f32, f16 and bf16, in f32: with the error
// function, as it is defined, and in the form with tanh that many models were trained with.
//
// Memory traffic: one read and one write of each element.

#include "../include/activation.cuh"
#include "../include/elementwise.cuh"

namespace cuda_kernels {

template <class T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads)
    gelu_erf(const T* __restrict__ x, T* __restrict__ y, long long count) {
  const auto gelu = [](float a) { return GeluErf::of<T>(a); };
  map<Threads, Packs>(count, gelu, y, x);
}

template <class T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads)
    gelu_tanh(const T* __restrict__ x, T* __restrict__ y, long long count) {
  const auto gelu = [](float a) { return GeluTanh::of<T>(a); };
  map<Threads, Packs>(count, gelu, y, x);
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
#define INSTANTIATE(T)                                                     \
  template __global__ void gelu_erf<T, 128, 2>(const T*, T*, long long); \
  template __global__ void gelu_tanh<T, 128, 2>(const T*, T*, long long)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);
#endif

}  // namespace cuda_kernels
