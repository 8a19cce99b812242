// Kernels of courses and libraries: sparse matrices, sorting, filters, simulation, a large block.
extern "C" {

// A warp a row of a matrix in CSR form.
__global__ void spmv_csr(const int* __restrict__ offsets, const int* __restrict__ columns,
                         const float* __restrict__ values, const float* __restrict__ x,
                         float* __restrict__ y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = offsets[row] + lane; i < offsets[row + 1]; i += 32) sum += values[i] * x[columns[i]];
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffff, sum, o);
  if (lane == 0) y[row] = sum;
}

// Odd-even transposition: as many steps as there are keys.
__global__ void odd_even_sort(int* __restrict__ keys, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) s[i] = keys[i];
  __syncthreads();
  for (int step = 0; step < n; step++) {
    int i = 2 * t + (step & 1);
    if (i + 1 < n && s[i] > s[i + 1]) {
      int swap = s[i];
      s[i] = s[i + 1];
      s[i + 1] = swap;
    }
    __syncthreads();
  }
  for (int i = t; i < n; i += blockDim.x) keys[i] = s[i];
}

__constant__ float filter_scale = 1.0f;

#define RADIUS 2
#define TILE 16
__global__ void convolve_2d(const float* __restrict__ image, const float* __restrict__ filter,
                            float* __restrict__ out, int width, int height) {
  __shared__ float tile[TILE + 2 * RADIUS][TILE + 2 * RADIUS];
  for (int j = threadIdx.y; j < TILE + 2 * RADIUS; j += TILE)
    for (int i = threadIdx.x; i < TILE + 2 * RADIUS; i += TILE) {
      int x = blockIdx.x * TILE + i - RADIUS, y = blockIdx.y * TILE + j - RADIUS;
      x = min(max(x, 0), width - 1), y = min(max(y, 0), height - 1);
      tile[j][i] = image[y * width + x];
    }
  __syncthreads();
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j <= 2 * RADIUS; j++)
#pragma unroll
    for (int i = 0; i <= 2 * RADIUS; i++)
      sum += tile[threadIdx.y + j][threadIdx.x + i] * filter[j * (2 * RADIUS + 1) + i];
  out[y * width + x] = sum * filter_scale;
}

// Exclusive scan by an up-sweep and a down-sweep over a tree, two numbers a thread.
#define CONFLICT_FREE(i) ((i) + ((i) >> 5))
__global__ void scan_blelloch(const float* __restrict__ in, float* __restrict__ out, int n) {
  extern __shared__ float s_scan[];
  int t = threadIdx.x, offset = 1;
  const float* x = in + (size_t)blockIdx.x * n;
  s_scan[CONFLICT_FREE(2 * t)] = x[2 * t];
  s_scan[CONFLICT_FREE(2 * t + 1)] = x[2 * t + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      s_scan[CONFLICT_FREE(b)] += s_scan[CONFLICT_FREE(a)];
    }
    offset <<= 1;
  }
  if (t == 0) s_scan[CONFLICT_FREE(n - 1)] = 0.0f;
  for (int d = 1; d < n; d <<= 1) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      float keep = s_scan[CONFLICT_FREE(a)];
      s_scan[CONFLICT_FREE(a)] = s_scan[CONFLICT_FREE(b)];
      s_scan[CONFLICT_FREE(b)] += keep;
    }
  }
  __syncthreads();
  out[(size_t)blockIdx.x * n + 2 * t] = s_scan[CONFLICT_FREE(2 * t)];
  out[(size_t)blockIdx.x * n + 2 * t + 1] = s_scan[CONFLICT_FREE(2 * t + 1)];
}

__global__ void n_body(const float4* __restrict__ bodies, float3* __restrict__ forces, int n) {
  extern __shared__ float4 others[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 force = make_float3(0, 0, 0);
  for (int start = 0; start < n; start += blockDim.x) {
    int j = start + threadIdx.x;
    others[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < blockDim.x; k++) {
      float4 other = others[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
      float strength = other.w * inverse * inverse * inverse;
      force.x += dx * strength, force.y += dy * strength, force.z += dz * strength;
    }
    __syncthreads();
  }
  if (i < n) forces[i] = force;
}

// Monte Carlo with a counter-based generator (Philox 4x32-10): points inside a quarter circle.
__device__ uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; round++) {
    unsigned low0 = 0xD2511F53u * counter.x, high0 = __umulhi(0xD2511F53u, counter.x);
    unsigned low1 = 0xCD9E8D57u * counter.z, high1 = __umulhi(0xCD9E8D57u, counter.z);
    counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key.x += 0x9E3779B9u, key.y += 0xBB67AE85u;
  }
  return counter;
}
__global__ void monte_carlo(unsigned* __restrict__ inside, unsigned seed) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 r = philox(make_uint4(i, 0, 0, 0), make_uint2(seed, 0));
  float x = r.x * 2.3283064e-10f, y = r.y * 2.3283064e-10f;
  int found = __syncthreads_count(x * x + y * y < 1.0f);
  if (threadIdx.x == 0) atomicAdd(inside, found);
}

__global__ void floyd_warshall_step(int* __restrict__ distance, int n, int k) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || j >= n) return;
  int through = distance[i * n + k] + distance[k * n + j];
  if (through < distance[i * n + j]) distance[i * n + j] = through;
}

// 1024 threads, each with 8 x 4 sums kept across barriers, and both tiles twice in shared memory.
__global__ void __launch_bounds__(1024) matmul_large_block(const float* __restrict__ a,
                                                           const float* __restrict__ b,
                                                           float* __restrict__ c, int m, int n,
                                                           int k) {
  constexpr int M = 256, N = 128, K = 16;
  extern __shared__ float stages[];  // 2 * (M * K + K * N) floats
  int t = threadIdx.x, tx = t % 32, ty = t / 32;
  const float* from_a = a + (size_t)blockIdx.y * M * k;
  const float* from_b = b + blockIdx.x * N;
  auto fetch = [&](int at, int stage) {
    float* ta = stages + stage * (M * K + K * N);
    float* tb = ta + M * K;
#pragma unroll
    for (int i = t; i < M * K; i += 1024) ta[i % K * M + i / K] = from_a[i / K * k + at + i % K];
#pragma unroll
    for (int i = t; i < K * N; i += 1024) tb[i] = from_b[(at + i / N) * n + i % N];
  };
  float sums[8][4] = {};
  fetch(0, 0);
  __syncthreads();
  for (int at = 0, stage = 0; at < k; at += K, stage ^= 1) {
    if (at + K < k) fetch(at + K, stage ^ 1);
    const float* ta = stages + stage * (M * K + K * N);
    const float* tb = ta + M * K;
#pragma unroll
    for (int d = 0; d < K; d++) {
      float left[8], right[4];
#pragma unroll
      for (int i = 0; i < 8; i++) left[i] = ta[d * M + ty * 8 + i];
#pragma unroll
      for (int j = 0; j < 4; j++) right[j] = tb[d * N + tx + 32 * j];
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sums[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
      c[(size_t)(blockIdx.y * M + ty * 8 + i) * n + blockIdx.x * N + tx + 32 * j] = sums[i][j];
}
}
