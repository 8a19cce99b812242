// C = act(A B + bias + residual) for A [batch, m, k] and B [batch, k, n], or weights [batch, n, k], of f32, on the
// tensor cores of sm_80 and later. Bias [n] and residual [batch, m, n] may each be absent (null). Any sizes; the fast
// path has rows of whole 16 bytes at aligned addresses.
//
// 3xTF32. Tensor cores truncate f32 to TF32, without its last 13 bits. So each number is split into what they see and
// the rest, which they see too except for its own last bits, and a product becomes three: rest * seen + seen * rest +
// seen * seen. What is missing, rest * rest and the end of the rest, is below 2^-21 of it. A tensor core also truncates
// when it accumulates, always towards zero, where an f32 addition rounds: over a long k that would be a visible part of
// the sum. So it only accumulates 8 of k, and ordinary additions do the rest. The errors, measured beside those of
// cuBLAS, which multiplies and adds f32, are in docs/kernels/gemm_sm80.md.
//
// Infinity cannot be split like this: its rest is NaN, and so is every sum that contains it. So a block that finds NaN
// in its tile computes it again with a careful split. Other blocks do not pay for it.
//
// Everything else is as in gemm_sm80.cu, with fragments for 8 of k. ldmatrix moves 16 bytes of a row, whatever they are:
// here 4 of k, of A and of weights.
//
// `gemm_tf32` is for who asks for it: one product of numbers that are rounded to TF32, to nearest, as cuBLAS does it where
// `torch.backends.cuda.matmul.allow_tf32` is set. Infinity and NaN stay what they are. Errors are about 3e-4.
//
// Memory traffic: A is read by n / TileN blocks and B by m / TileM, C is written once; all but the first of these
// reads hit the L2 cache, since blocks that run at the same time compute adjacent tiles.

#include "../include/activation.cuh"
#include "../include/multiply.cuh"
#include "../include/tile.cuh"

namespace cuda_kernels {

// The minimum number of blocks per multiprocessor, for __launch_bounds__; 0: none. Shared memory holds two blocks of
// 96 KiB; for three the compiler leaves 80 registers, which are too few for B as [k, n]. With weights this is
// 5 % faster than with more registers.
template <bool IsWeights, int SharedBytes>
constexpr int kResident = !IsWeights && SharedBytes > 64 * 1024 ? 2 : 0;

template <class Activation, bool IsWeights, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN,
          int WarpsK, class... Numbers>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK,
                                  kResident<IsWeights, Stages * (TileM + TileN) * TileK * 4>)
    gemm_f32(const float* __restrict__ a,
             const float* __restrict__ b,
             const float* __restrict__ bias,
             const float* __restrict__ residual,
             float* __restrict__ c,
             int batch,
             int m,
             int n,
             int k,
             Numbers... numbers) {
  using Mainloop = MainloopSm80<float, IsWeights, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  extern __shared__ __align__(128) unsigned char stages[];
  const typename Mainloop::Tile tile(m, n);
  float accumulators[Mainloop::rows][Mainloop::columns][4];
  if (multiply<false>(Mainloop(a, b, tile, m, n, k, stages), accumulators)) {
    multiply<true>(Mainloop(a, b, tile, m, n, k, stages), accumulators);
  }
  epilogue<Mainloop>(Activation{numbers...}, accumulators, stages, bias, residual, c, tile, m, n);
}

template <class Activation, bool IsWeights, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN,
          int WarpsK, class... Numbers>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK, 1) gemm_tf32(const float* __restrict__ a,
                                                                           const float* __restrict__ b,
                                                                           const float* __restrict__ bias,
                                                                           const float* __restrict__ residual,
                                                                           float* __restrict__ c,
                                                                           int batch,
                                                                           int m,
                                                                           int n,
                                                                           int k,
                                                                           Numbers... numbers) {
  using Mainloop = MainloopSm80<float, IsWeights, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  extern __shared__ __align__(128) unsigned char stages[];
  const typename Mainloop::Tile tile(m, n);
  Mainloop mainloop(a, b, tile, m, n, k, stages);
  float accumulators[Mainloop::rows][Mainloop::columns][4] = {};
  mainloop.run(MultiplyTf32<Mainloop::rows, Mainloop::columns>{accumulators});
  epilogue<Mainloop>(Activation{numbers...}, accumulators, stages, bias, residual, c, tile, m, n);
}

}  // namespace cuda_kernels
