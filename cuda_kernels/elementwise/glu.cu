// Gated linear units: y = f(gate) * up, for f32, f16 and bf16, in f32. `geglu_erf` and `geglu_tanh` take gate and up as tensors
// of their own. `glu_of_halves` takes them as the halves of each row of one tensor, which a single product for both
// leaves, and has f as a number: 0 silu, 1 GELU, 2 GELU of tanh, 3 sigmoid, 4 relu,
// 5 quick GELU, 6 squared relu.
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

// Gates `count` elements of a row from `at` on: a whole pack, which is aligned in y, or fewer.
template <class Activation, class T>
__device__ __forceinline__ void gate_some(
    const T* __restrict__ gate, const T* __restrict__ up, T* __restrict__ y, int at, int count, int columns) {
  constexpr int size = kPack<T>;
  const bool is_inner = at >= size && at + 2 * size <= columns;  // then there is a pack on either side of it
  if (count == size && (is_inner || aligned(gate + at, up + at))) {
    float a[size], b[size];
    const uint4 first = load_any(gate + at), second = load_any(up + at);
    unpack<T>(first, a);
    unpack<T>(second, b);
#pragma unroll
    for (int i = 0; i < size; ++i) b[i] *= Activation::template of<T>(a[i]);
    store_pack(y + at, b);
  } else {
#pragma unroll 1
    for (int i = at; i < at + count; ++i)
      y[i] = static_cast<T>(static_cast<float>(up[i]) * Activation::template of<T>(static_cast<float>(gate[i])));
  }
}

// A thread has a pack of y, or what a row has before its first or behind its last.
template <class T, int Threads>
__global__ void __launch_bounds__(Threads) glu_of_halves(const T* __restrict__ x,
                                                         T* __restrict__ y,
                                                         int activation,
                                                         int gate_is_second,
                                                         long long rows,
                                                         int columns) {
  constexpr int size = kPack<T>;
  const int units = columns / size + 2;
  const long long index = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x;
  if (index >= rows * units) return;
  const long long row = index / units;
  const T* const first = x + row * 2 * columns;
  const T* const gate = gate_is_second != 0 ? first + columns : first;
  const T* const up = gate_is_second != 0 ? first : first + columns;
  T* const to = y + row * columns;
  const int head = min(before_aligned(to), columns), unit = static_cast<int>(index - row * units);
  const int at = unit == 0 ? 0 : head + (unit - 1) * size, count = unit == 0 ? head : min(size, columns - at);
  if (count <= 0) return;
  switch (activation) {
    case 0: return gate_some<Silu>(gate, up, to, at, count, columns);
    case 1: return gate_some<GeluErf>(gate, up, to, at, count, columns);
    case 2: return gate_some<GeluTanh>(gate, up, to, at, count, columns);
    case 3: return gate_some<Sigmoid>(gate, up, to, at, count, columns);
    case 4: return gate_some<Relu>(gate, up, to, at, count, columns);
    case 5: return gate_some<QuickGelu>(gate, up, to, at, count, columns);
    default: return gate_some<SquaredRelu>(gate, up, to, at, count, columns);
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
