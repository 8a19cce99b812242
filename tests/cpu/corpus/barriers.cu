// Shared memory and barriers, in every form that CUDA C++ and inline PTX give.
extern "C" {

__global__ void __launch_bounds__(128) rms_norm_tree(const float* __restrict__ x,
                                                     const float* __restrict__ w,
                                                     float* __restrict__ y, int cols, float eps) {
  __shared__ float partial[128];
  const float* row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int i = threadIdx.x; i < cols; i += 128) s += row[i] * row[i];
  partial[threadIdx.x] = s;
  __syncthreads();
  for (int o = 64; o; o >>= 1) {
    if (threadIdx.x < o) partial[threadIdx.x] += partial[threadIdx.x + o];
    __syncthreads();
  }
  float r = rsqrtf(partial[0] / cols + eps);
  for (int i = threadIdx.x; i < cols; i += 128)
    y[(size_t)blockIdx.x * cols + i] = row[i] * r * w[i];
}

__global__ void __launch_bounds__(256) matmul_tiled(const float* __restrict__ a,
                                                    const float* __restrict__ b,
                                                    float* __restrict__ c, int m, int n, int k) {
  __shared__ float ta[16][16];
  __shared__ float tb[16][17];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float acc = 0;
  for (int k0 = 0; k0 < k; k0 += 16) {
    ta[ty][tx] = (row < m && k0 + tx < k) ? a[row * k + k0 + tx] : 0.f;
    tb[ty][tx] = (k0 + ty < k && col < n) ? b[(k0 + ty) * n + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) acc += ta[ty][i] * tb[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = acc;
}

__global__ void transpose(const float* __restrict__ x, float* __restrict__ y, int w, int h) {
  __shared__ float tile[32][33];
  int i = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (i < w && blockIdx.y * 32 + j < h) tile[j][threadIdx.x] = x[(blockIdx.y * 32 + j) * w + i];
  __syncthreads();
  int o = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (o < h && blockIdx.x * 32 + j < w) y[(blockIdx.x * 32 + j) * h + o] = tile[threadIdx.x][j];
}

__global__ void histogram(const int* __restrict__ x, int* __restrict__ bins, int n) {
  __shared__ int s[64];
  if (threadIdx.x < 64) s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i] & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64 && s[threadIdx.x]) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

__global__ void reverse_dynamic(const float* __restrict__ x, float* __restrict__ y, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * n + t];
  __syncthreads();
  y[blockIdx.x * n + t] = s[n - 1 - t];
}

__global__ void early_exit(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t >= 64) return;
  s[t] = t < n ? x[t] : 0;
  __syncthreads();
  y[t] = s[63 - t];
}

// Local memory that is indexed at run time, and so stays memory, lives across a barrier.
__global__ void local_across_barrier(const int* x, int* y) {
  int t = threadIdx.x;
  int a[8];
  for (int i = 0; i < 8; i++) a[i] = x[i] * t;
  __syncthreads();
  int r = 0;
  switch (x[t] & 7) {
    case 0: r = a[x[1] & 7]; break;
    case 1: r = 5; break;
    case 2: r = a[3] * 7; break;
    case 3: r = -1; break;
    case 4: r = a[x[5] & 7] ^ 3; break;
    case 5: r = 99 / (x[2] | 1); break;
    case 6: r = 1 << t; break;
    default: r = t;
  }
  y[t] = r;
}

__global__ void block_3d(int* y) {
  __shared__ int s[4][4][4];
  int x = threadIdx.x, j = threadIdx.y, z = threadIdx.z;
  s[z][j][x] = x + 10 * j + 100 * z + 1000 * blockIdx.y;
  __syncthreads();
  y[((blockIdx.y * 4 + z) * 4 + j) * 4 + x] = s[x][z][j];
}

__global__ void counted(const int* __restrict__ x, int* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? x[i] : 0;
  int positive = __syncthreads_count(v > 0);
  int all = __syncthreads_and(v > -50), any = __syncthreads_or(v > 49);
  if (i < n) y[i] = positive * 4 + (all ? 2 : 0) + (any ? 1 : 0);
}

// Two groups of threads, each with a barrier of its own; then everyone.
__global__ void named(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[128];
  int t = threadIdx.x, g = t >> 6;
  s[t] = x[t];
  asm volatile("bar.sync %0, 64;" ::"r"(g + 1) : "memory");
  float v = s[g * 64 + 63 - (t & 63)];
  if (g) {
    for (int i = 0; i < 3; i++) {
      asm volatile("bar.sync 2, 64;" ::: "memory");
      s[t] = v + i;
      asm volatile("bar.sync 2, 64;" ::: "memory");
      v = s[64 + ((t + 1) & 63)];
    }
  }
  __syncthreads();
  y[t] = v + s[0] * 0;
}

// A warp that fills a buffer and a warp that drains it, as specialised kernels are written.
__global__ void producer_consumer(const int* __restrict__ x, int* __restrict__ y, int rounds) {
  __shared__ int buffer[2][32];
  int lane = threadIdx.x & 31;
  if (threadIdx.x >= 32) {
    for (int i = 0; i < rounds; i++) {
      asm volatile("bar.sync %0, 64;" ::"r"(3 + (i & 1)) : "memory");
      buffer[i & 1][lane] = x[i * 32 + lane];
      asm volatile("bar.arrive %0, 64;" ::"r"(1 + (i & 1)) : "memory");
    }
  } else {
    asm volatile("bar.arrive 3, 64;" ::: "memory");
    asm volatile("bar.arrive 4, 64;" ::: "memory");
    for (int i = 0; i < rounds; i++) {
      asm volatile("bar.sync %0, 64;" ::"r"(1 + (i & 1)) : "memory");
      y[i * 32 + lane] = buffer[i & 1][31 - lane] + i;
      if (i + 2 < rounds) asm volatile("bar.arrive %0, 64;" ::"r"(3 + (i & 1)) : "memory");
    }
  }
}

// Inclusive scan by doubling strides.
__global__ void scan_hillis(const int* __restrict__ x, int* __restrict__ y, int n) {
  __shared__ int s[2][256];
  int t = threadIdx.x, from = 0;
  s[0][t] = t < n ? x[blockIdx.x * n + t] : 0;
  __syncthreads();
  for (int o = 1; o < 256; o *= 2) {
    s[1 - from][t] = s[from][t] + (t >= o ? s[from][t - o] : 0);
    from = 1 - from;
    __syncthreads();
  }
  if (t < n) y[blockIdx.x * n + t] = s[from][t];
}

__global__ void bitonic_sort(unsigned* __restrict__ keys) {
  __shared__ unsigned s[512];
  int t = threadIdx.x;
  s[t] = keys[t], s[t + 256] = keys[t + 256];
  for (int size = 2; size <= 512; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (stride - 1));
      bool up = (i & size) == 0;
      unsigned a = s[i], b = s[i + stride];
      if ((a > b) == up) s[i] = b, s[i + stride] = a;
    }
  }
  __syncthreads();
  keys[t] = s[t], keys[t + 256] = s[t + 256];
}

__global__ void stencil_5(const float* __restrict__ x, float* __restrict__ y, int w, int h) {
  __shared__ float s[18][18];
  int tx = threadIdx.x, ty = threadIdx.y;
  int i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
  auto at = [&](int u, int v) { return u >= 0 && u < w && v >= 0 && v < h ? x[v * w + u] : 0.f; };
  s[ty + 1][tx + 1] = at(i, j);
  if (tx == 0) s[ty + 1][0] = at(i - 1, j);
  if (tx == 15) s[ty + 1][17] = at(i + 1, j);
  if (ty == 0) s[0][tx + 1] = at(i, j - 1);
  if (ty == 15) s[17][tx + 1] = at(i, j + 1);
  __syncthreads();
  if (i < w && j < h)
    y[j * w + i] = s[ty + 1][tx + 1] * 4.f - s[ty + 1][tx] - s[ty + 1][tx + 2] - s[ty][tx + 1] -
                   s[ty + 2][tx + 1];
}

__global__ void convolve_1d(const float* __restrict__ x, const float* __restrict__ taps,
                            float* __restrict__ y, int n) {
  __shared__ float s[128 + 8];
  int t = threadIdx.x, base = blockIdx.x * 128;
  for (int i = t; i < 136; i += 128) {
    int at = base + i - 4;
    s[i] = at >= 0 && at < n ? x[at] : 0.f;
  }
  __syncthreads();
  float v = 0;
  for (int i = 0; i < 9; i++) v += s[t + i] * taps[i];
  if (base + t < n) y[base + t] = v;
}
}
