// Functions that benchmarks let follow products, or change scores of attention.

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
// The soft cap that ships, in its words.
__device__ float quick_soft_cap(float score, float cap) {
  return cap - __fdividef(2.0f * cap, 1.0f + __expf(2.0f / cap * score));
}

// The same as it is mostly written.
__device__ float written_soft_cap(float score, float cap) { return cap * tanhf(score / cap); }

// Without an exponential, and hides the keys whose scores are low.
__device__ float bent_or_hidden(float score, float limit, float least) {
  return score < least ? -INFINITY : score / (1.0f + fabsf(score) / limit);
}
