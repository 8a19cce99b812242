// Device functions that stay functions, and variables of the module.
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(x) ((x) ? (void)0 : __assertfail(#x, __FILE__, __LINE__, "", 1))

struct Pair {
  float first;
  double second;
  int count;
};

__device__ int counters[4] = {1, 2, 3, 4};
__device__ float low[3] = {0.5f, 1.5f, 2.5f};
__device__ float high[3] = {10.f, 20.f, 30.f};
__device__ float* tables[2] = {low, high + 1};
struct Entry {
  const char* name;
  int value;
};
__constant__ Entry entries[2] = {{"ab", 7}, {"xyz", 9}};

__device__ __noinline__ float block_sum(float v, float* scratch) {
  int t = threadIdx.x;
  scratch[t] = v;
  __syncthreads();
  for (int o = blockDim.x / 2; o; o >>= 1) {
    if (t < o) scratch[t] += scratch[t + o];
    __syncthreads();
  }
  float total = scratch[0];
  __syncthreads();
  return total;
}
__device__ __noinline__ int warp_total(int v) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
__device__ __noinline__ Pair combine(Pair a, Pair b) {
  return {a.first + b.first, a.second * b.second, a.count - b.count};
}
__device__ __noinline__ short narrow(signed char a, short b) { return (short)(a * b); }
__device__ __noinline__ int early(int v) {
  if (v < 0) return -1;
  int s = 0;
  for (int i = 0; i < v; i++) {
    if (i * i > 50) return s;
    s += i;
  }
  return s * 2;
}
__device__ __noinline__ void fill(int* a, int n, int v) {
  for (int i = 0; i < n; i++) a[i] = v * i;
}

extern "C" {
__global__ void row_mean_deviation(const float* x, float* y, int cols) {
  __shared__ float scratch[64];
  const float* row = x + blockIdx.x * cols;
  float s = 0, q = 0;
  for (int i = threadIdx.x; i < cols; i += 64) s += row[i];
  float mean = block_sum(s, scratch) / cols;
  for (int i = threadIdx.x; i < cols; i += 64) q += fabsf(row[i] - mean);
  float deviation = block_sum(q, scratch) / cols;
  if (threadIdx.x == 0) y[blockIdx.x * 2] = mean, y[blockIdx.x * 2 + 1] = deviation;
}
__global__ void structs(const float* x, float* y) {
  int t = threadIdx.x;
  Pair p = combine({x[t], 2.0, t}, {1.5f, 3.0, 4});
  y[t] = p.first + (float)p.second + p.count + narrow((signed char)(t - 40), -3);
}
__global__ void mixed(const int* x, int* y) {
  int t = threadIdx.x, a[8];
  fill(a, 8, x[t]);
  int total = warp_total(x[t]);
  y[t] = total * 1000 + early(x[t]) + a[t & 7];
}
__global__ void module_variables(const int* x, float* y) {
  int t = threadIdx.x;
  y[t] = tables[x[t] & 1][t & 1] + counters[t & 3] + entries[t & 1].value +
         entries[t & 1].name[x[t] & 1];
}
__global__ void asserts(const int* x, int* y) {
  assert(x[threadIdx.x] >= 0);
  y[threadIdx.x] = x[threadIdx.x] + 1;
}
__global__ void powers(const double* x, double* y) {
  int t = threadIdx.x;
  y[t] = pow(x[t], 0.3) + tgamma(x[t]);
}
}
