// Kernels that tests put into models: simple, and right for any size.

extern "C" __global__ void squared_relu(const float* x, float scale, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float positive = fmaxf(x[i], 0.0f);
  y[i] = positive * positive * scale;
}

extern "C" __global__ void add_relu(const float* x, const float* residual, float* sum, float* y,
                                    int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  sum[i] = x[i] + residual[i];
  y[i] = fmaxf(sum[i], 0.0f);
}

// A block for each query, a thread for each element of a head; online softmax.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* out,
                                     float scale, bool causal, int queries, int keys, int dim) {
  int head = blockIdx.x / queries, query = blockIdx.x % queries, lane = threadIdx.x;
  const float* mine = q + (long long)blockIdx.x * dim;
  const float* first = k + (long long)head * keys * dim;
  const float* values = v + (long long)head * keys * dim;
  if (lane >= dim) return;
  float largest = -INFINITY, sum = 0.0f, result = 0.0f;
  for (int key = 0; key < (causal ? min(keys, query + 1) : keys); ++key) {
    float score = 0.0f;
    for (int i = 0; i < dim; ++i) score += mine[i] * first[key * dim + i];
    score *= scale;
    float above = fmaxf(largest, score), kept = expf(largest - above), weight = expf(score - above);
    sum = sum * kept + weight;
    result = result * kept + weight * values[key * dim + lane];
    largest = above;
  }
  out[(long long)blockIdx.x * dim + lane] = result / sum;
}

// Halves of a head rotated by angles that all heads share.
extern "C" __global__ void rotary(const float* x, const float* cosine, const float* sine, float* y,
                                  int heads, int rows, int dim) {
  int i = threadIdx.x, row = blockIdx.x % rows, image = blockIdx.x / rows / heads, half = dim / 2;
  if (i >= dim) return;
  const float* mine = x + (long long)blockIdx.x * dim;
  long long angle = ((long long)image * rows + row) * dim + i;
  float other = i < half ? -mine[i + half] : mine[i - half];
  y[(long long)blockIdx.x * dim + i] = mine[i] * cosine[angle] + other * sine[angle];
}
