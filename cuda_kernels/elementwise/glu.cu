// Gated linear units: y = f(gate) * up, for f32, f16 and bf16, in f32. `geglu_erf` and `geglu_tanh` take gate and up as tensors
// of their own. `glu_of_halves` takes them as the halves of each row of one tensor, which a single product for both
// leaves, and has f as a number: 0 silu, 1 GELU, 2 GELU of tanh, 3 sigmoid, 4 relu.
//
// Memory traffic: two reads and one write of each element.

#include "../include/activation.cuh"
#include "../include/elementwise.cuh"

namespace cuda_kernels {

template <class T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads)
    geglu_erf(const T* __restrict__ gate, const T* __restrict__ up, T* __restrict__ y, long long count) {
  const auto gated = [](float a, float b) { return GeluErf::of<T>(a) * b; };
  map<Threads, Packs>(count, gated, y, gate, up);
}

template <class T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads)
    geglu_tanh(const T* __restrict__ gate, const T* __restrict__ up, T* __restrict__ y, long long count) {
  const auto gated = [](float a, float b) { return GeluTanh::of<T>(a) * b; };
  map<Threads, Packs>(count, gated, y, gate, up);
}

// Gates up to kPack elements of a row.
template <class T, class Function>
__device__ __forceinline__ void gate_some(
    const T* __restrict__ gate, const T* __restrict__ up, T* __restrict__ y, int count, bool whole, Function function) {
  constexpr int size = kPack<T>;
  float a[size] = {}, b[size] = {};
  if (whole) {
    load_pack(gate, a);
    load_pack(up, b);
  } else {
    for (int i = 0; i < size; ++i) {
      if (i >= count) continue;
      a[i] = static_cast<float>(gate[i]);
      b[i] = static_cast<float>(up[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < size; ++i) b[i] *= function(a[i]);
  if (whole) {
    store_pack(y, b);
  } else {
    for (int i = 0; i < size; ++i)
      if (i < count) y[i] = static_cast<T>(b[i]);
  }
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) glu_of_halves(const T* __restrict__ x,
                                                         T* __restrict__ y,
                                                         int activation,
                                                         int gate_is_second,
                                                         long long rows,
                                                         int columns) {
  constexpr int size = kPack<T>;
  const int packs = (columns + size - 1) / size;
  const long long index = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x;
  if (index >= rows * packs) return;
  const long long row = index / packs;
  const int at = static_cast<int>(index - row * packs) * size;
  const bool whole = aligned(x, y) && columns % size == 0;
  const int count = min(size, columns - at);
  const T* const first = x + row * 2 * columns + at;
  const T* const gate = gate_is_second != 0 ? first + columns : first;
  const T* const up = gate_is_second != 0 ? first : first + columns;
  T* const to = y + row * columns + at;
  switch (activation) {
    case 0:
      return gate_some(gate, up, to, count, whole, [](float a) { return Silu::of<T>(a); });
    case 1:
      return gate_some(gate, up, to, count, whole, [](float a) { return GeluErf::of<T>(a); });
    case 2:
      return gate_some(gate, up, to, count, whole, [](float a) { return GeluTanh::of<T>(a); });
    case 3:
      return gate_some(gate, up, to, count, whole, [](float a) { return __fdividef(1.0f, 1.0f + __expf(-a)); });
    default:
      return gate_some(gate, up, to, count, whole, [](float a) { return Relu::of<T>(a); });
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
#define INSTANTIATE(T)                                                                   \
  template __global__ void geglu_erf<T, 128, 2>(const T*, const T*, T*, long long);      \
  template __global__ void geglu_tanh<T, 128, 2>(const T*, const T*, T*, long long);     \
  template __global__ void glu_of_halves<T, 128>(const T*, T*, int, int, long long, int)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);
#endif

}  // namespace cuda_kernels
