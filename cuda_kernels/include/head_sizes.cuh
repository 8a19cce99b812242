// The size of a head of attention: a constant of a kernel, or what a call has. To be included by kernels:
// #include "../include/head_sizes.cuh".
//
// Tiles have kColumns columns of queries and keys, and kValueColumns of values and results. Of these dim() and
// value_dim() are in memory, where they are also the distances between rows; the others of a tile are zeros.
#pragma once

namespace cuda_kernels {

// Heads of one size alone.
template <int Dim>
struct Exactly {
  static constexpr bool kIsExact = true;
  static constexpr int kColumns = Dim, kValueColumns = Dim;

  __device__ __forceinline__ Exactly(int, int) {}
  __device__ __forceinline__ static constexpr int dim() { return Dim; }
  __device__ __forceinline__ static constexpr int value_dim() { return Dim; }
};

// Heads of any sizes up to these.
template <int Columns, int ValueColumns>
struct UpTo {
  static_assert(ValueColumns <= Columns, "the tiles of queries and keys are the larger ones");
  static constexpr bool kIsExact = false;
  static constexpr int kColumns = Columns, kValueColumns = ValueColumns;
  int given_dim, given_value_dim;

  __device__ __forceinline__ UpTo(int dim, int value_dim) : given_dim(dim), given_value_dim(value_dim) {}
  __device__ __forceinline__ int dim() const { return given_dim; }
  __device__ __forceinline__ int value_dim() const { return given_value_dim; }
};

// Whether every row begins at a multiple of 16 bytes where the first does.
template <class T, class Head>
__device__ __forceinline__ bool are_packs(const Head& head_sizes) {
  constexpr int size = 16 / sizeof(T);
  return (head_sizes.dim() % size == 0) & (head_sizes.value_dim() % size == 0);
}

}  // namespace cuda_kernels
