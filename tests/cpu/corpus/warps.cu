// Warp operations: shuffles, votes, matches and reductions, with member masks.
#define FLT_MAX 3.402823466e+38f

__device__ __forceinline__ float warp_max(float v) {
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}
__device__ __forceinline__ float warp_sum(float v) {
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  return v;
}

extern "C" {

__global__ void __launch_bounds__(256) softmax(const float* __restrict__ x, float* __restrict__ y,
                                               int cols) {
  __shared__ float partial[32];
  __shared__ float shared_value;
  const float* row = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
  float m = -FLT_MAX;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, row[i]);
  m = warp_max(m);
  if (lane == 0) partial[warp] = m;
  __syncthreads();
  if (warp == 0) {
    float t = warp_max(lane < warps ? partial[lane] : -FLT_MAX);
    if (lane == 0) shared_value = t;
  }
  __syncthreads();
  m = shared_value;
  float s = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    float e = __expf(row[i] - m);
    out[i] = e;
    s += e;
  }
  s = warp_sum(s);
  __syncthreads();
  if (lane == 0) partial[warp] = s;
  __syncthreads();
  if (warp == 0) {
    float t = warp_sum(lane < warps ? partial[lane] : 0.f);
    if (lane == 0) shared_value = t;
  }
  __syncthreads();
  float inv = 1.f / shared_value;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] *= inv;
}

// One warp a row; rows beyond the end have no work, and leave before the shuffles.
__global__ void layer_norm(const float* __restrict__ x, const float* __restrict__ w,
                           const float* __restrict__ b, float* __restrict__ y, int cols) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= 5) return;
  float s = 0, q = 0;
  for (int i = threadIdx.x; i < cols; i += 32) s += x[row * cols + i];
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  float mean = s / cols;
  for (int i = threadIdx.x; i < cols; i += 32) {
    float d = x[row * cols + i] - mean;
    q += d * d;
  }
  for (int o = 16; o; o >>= 1) q += __shfl_xor_sync(0xffffffffu, q, o);
  float r = rsqrtf(q / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += 32)
    y[row * cols + i] = (x[row * cols + i] - mean) * r * w[i] + b[i];
}

__global__ void compact_ranks(const int* __restrict__ x, int* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned m = __ballot_sync(0xffffffffu, x[i] > 0);
  int any = __any_sync(0xffffffffu, x[i] > 0), all = __all_sync(0xffffffffu, x[i] > 0);
  y[i] = __popc(m & ((1u << (threadIdx.x & 31)) - 1)) * 4 + any * 2 + all;
}

__global__ void partial_warp(const int* __restrict__ x, int* __restrict__ y) {
  int v = x[threadIdx.x];
  unsigned mask = threadIdx.x < 32 ? 0xffffffffu : 0xffffu;
  for (int o = 16; o; o >>= 1) {
    int u = __shfl_up_sync(mask, v, o);
    if ((threadIdx.x & 31) >= o) v = max(v, u);
  }
  y[threadIdx.x] = v + __reduce_add_sync(mask, 1);
}

__global__ void reduce_all(const int* __restrict__ x, int* __restrict__ y) {
  int v = x[threadIdx.x], warp = threadIdx.x >> 5;
  unsigned all = 0xffffffffu;
  int sum = __reduce_add_sync(all, v), low = __reduce_min_sync(all, v);
  int high = __reduce_max_sync(all, v), land = __reduce_and_sync(all, (unsigned)v);
  int lor = __reduce_or_sync(all, (unsigned)v), lxor = __reduce_xor_sync(all, (unsigned)v);
  int ulow = __reduce_min_sync(all, (unsigned)v), uhigh = __reduce_max_sync(all, (unsigned)v);
  if ((threadIdx.x & 31) == 7) {
    int results[8] = {sum, low, high, land, lor, lxor, ulow, uhigh};
    for (int i = 0; i < 8; i++) y[warp * 8 + i] = results[i];
  }
}

__global__ void match_keys(const int* __restrict__ x, unsigned* __restrict__ y) {
  int v = x[threadIdx.x], same;
  unsigned any = __match_any_sync(0xffffffffu, v);
  unsigned wide = __match_any_sync(0xffffffffu, (long long)v << 33 | 5);
  unsigned all = __match_all_sync(0xffffffffu, v, &same);
  unsigned sure = __match_all_sync(0xffffffffu, 3, &same);
  y[threadIdx.x] = any == wide && all == 0 && sure == 0xffffffffu && same ? any : 0;
}

__global__ void shuffle_modes(int* y) {
  int lane = threadIdx.x, up, valid;
  y[lane] = __shfl_up_sync(0xffffffffu, lane, 3);
  y[32 + lane] = __shfl_down_sync(0xffffffffu, lane, 2, 8);
  y[64 + lane] = __shfl_xor_sync(0xffffffffu, lane, 5);
  y[96 + lane] = __shfl_sync(0xffffffffu, lane, 1, 4);
  y[128 + lane] = __shfl_sync(0xffffffffu, lane, lane + 7);
  asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 3, 31, -1; selp.u32 %1, 1, 0, p; }"
               : "=r"(up), "=r"(valid) : "r"(lane));
  y[160 + lane] = valid;
  y[192 + lane] = __shfl_up_sync(0xffffffffu, lane, 1, 16);
}

// Warp-aggregated atomics: whichever lanes are here elect one to add for all.
__global__ void filter_aggregated(const int* __restrict__ x, int* __restrict__ count,
                                  int* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    unsigned here = __activemask();
    int lane = threadIdx.x & 31, leader = __ffs(here) - 1, base = 0;
    if (lane == leader) base = atomicAdd(count, __popc(here));
    base = __shfl_sync(here, base, leader);
    y[base + __popc(here & ((1u << lane) - 1))] = x[i];
  }
}

// Two halves of a warp take two branches, each with shuffles of its own.
__global__ void divergent(int* y) {
  int lane = threadIdx.x & 31, v = lane;
  if (lane < 16) {
    for (int o = 8; o; o >>= 1) v += __shfl_xor_sync(0x0000ffffu, v, o);
  } else {
    for (int o = 1; o < 16; o *= 2) v += __shfl_xor_sync(0xffff0000u, v, o);
    v += 100;
  }
  __syncwarp();
  y[threadIdx.x] = v;
}

// The four largest of a row: each lane keeps its own, the warp merges them.
__global__ void top_4(const float* __restrict__ x, float* __restrict__ y, int n) {
  float best[4] = {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
  for (int i = threadIdx.x; i < n; i += 32) {
    float v = x[blockIdx.x * n + i];
    for (int k = 0; k < 4; k++)
      if (v > best[k]) { float t = best[k]; best[k] = v; v = t; }
  }
  for (int k = 0; k < 4; k++) {
    float m = best[0];
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    unsigned who = __ballot_sync(0xffffffffu, best[0] == m);
    if (threadIdx.x == __ffs(who) - 1) {
      y[blockIdx.x * 4 + k] = m;
      best[0] = best[1], best[1] = best[2], best[2] = best[3], best[3] = -FLT_MAX;
    }
  }
}
}
