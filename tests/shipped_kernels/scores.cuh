// Functions of scores in test_attention_with_scores.py.

namespace scores {

__device__ float soft_cap(float score, float cap) { return cap * tanhf(score / cap); }

// With a branch, a loop and numbers of several types.
__device__ float powers(float score, int times, bool keeps_sign, float limit) {
  float power = fabsf(score);
  for (int i = 1; i < times; ++i) power *= fabsf(score);
  if (power > limit) power = limit;
  return keeps_sign && score < 0.0f ? -power : power;
}

// Hides the keys whose scores are low.
__device__ float above(float score, float least) { return score < least ? -INFINITY : score; }

__device__ double widened(float score) { return score; }

__device__ float squared(float score) { return score * fabsf(score); }

}  // namespace scores
