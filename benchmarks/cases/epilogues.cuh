// Functions that benchmarks/gpu/epilogues.py lets follow products.

// The tanh form of GELU, in the words of the built-in one.
__device__ float quick_gelu_tanh(float x) {
  const float u = 0.79788456080286536f * (x + 0.044715f * x * x * x);
  return __fdividef(x, 1.0f + __expf(-2.0f * u));
}

// The same as it is mostly written.
__device__ float written_gelu_tanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
}

// Of everything that a function may take: another tensor, a vector with a number for each column, and a number.
__device__ float layer_scaled(float x, float before, float gamma, float factor) {
  return before + gamma * (x > 0.0f ? x : factor * x);
}
