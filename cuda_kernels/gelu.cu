// GELU, x * (the standard normal distribution below x), for f32, f16 and bf16, in f32: with the error
// function, as it is defined, and in the form with tanh that many models were trained with.
//
// Memory traffic: one read and one write of each element.

#include "include/elementwise.cuh"
#include "include/exponential.cuh"

namespace cuda_kernels {

__device__ __forceinline__ float gelu_of(float x) {
  return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
}

// The same, for results of 16 bits: the part of the normal distribution above a = |x| is exp(-a^2 / 2)
// times a polynomial of 1 / (1 + 0.38 a), in the form of Abramowitz and Stegun, 7.1.26. The coefficients
// are fitted to a relative error of 3.6e-5 from 0 to 14, where it is below 1e-38; of f16 half a unit in
// the last place is 4.9e-4. erff takes both ways of a branch, and longer.
__device__ __forceinline__ float gelu_of_16_bits(float x) {
  const float given = fabsf(x), a = given > 20.0f ? 20.0f : given;  // NaN stays NaN
  const float t = __fdividef(1.0f, 1.0f + 0.38f * a);
  float above = -0.08992973f;
  above = above * t + 0.18887899f;
  above = above * t + 0.09197848f;
  above = above * t + 0.15782952f;
  above = above * t + 0.15122519f;
  return fmaxf(x, 0.0f) - a * (above * t) * exponential(-0.5f * a * a);
}

template <class T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads)
    gelu_erf(const T* __restrict__ x, T* __restrict__ y, long long count) {
  const auto gelu = [](float a) { return sizeof(T) == 2 ? gelu_of_16_bits(a) : gelu_of(a); };
  map<Threads, Packs>(count, gelu, y, x);
}

// 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2 u)), which keeps its digits where tanh(u) is almost -1.
template <class T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads)
    gelu_tanh(const T* __restrict__ x, T* __restrict__ y, long long count) {
  const auto gelu = [](float a) {
    const float u = 0.79788456080286536f * (a + 0.044715f * a * a * a);
    return __fdividef(a, 1.0f + __expf(-2.0f * u));
  };
  map<Threads, Packs>(count, gelu, y, x);
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX.
#define INSTANTIATE(T)                                                     \
  template __global__ void gelu_erf<T, 128, 2>(const T*, T*, long long); \
  template __global__ void gelu_tanh<T, 128, 2>(const T*, T*, long long)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);

}  // namespace cuda_kernels
