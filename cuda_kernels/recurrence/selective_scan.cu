// State-space models: for each channel (head h, element p of it) a state of n numbers runs along time,
//   state[n] = decay[t, h, n] * state[n] + u[t, h, p] * b[t, g, n],   y[t, h, p] = sum over n of state[n] * c[t, g, n],
// and y = (y + d[h] * x) * silu(z). Heads share b and c in groups. decay is exp(dt * a), or dt itself if `plain`; u is x, or
// x * dt if `times_dt`, and in the delta rule beta * (x - sum over n of decayed state[n] * b[t, g, n]). Mamba has heads of one
// element and a number of `a` for each state, Mamba 2 one for each head, and a gated delta rule has beta.
//
// Everything but the state is independent along time, so what takes time is the exponentials and the products, and not the
// steps' latency: a channel's states are spread over `Lanes` lanes with `Per` each, and sums over lanes are made of `Lanes`
// steps at once, which takes `Lanes - 1` shuffles instead of log2 of it for each step. A block has channels of one group;
// b and c of `Steps` steps are in shared memory as f32, and those of the next steps are on their way in registers.
//
// Few channels leave most of a GPU idle. So a long sequence may be split in `Chunks`, of which the blocks of a cluster have
// one each. First each block finds what its chunk adds to states of zero, and by what the chunk multiplies those that it is
// given, which needs neither c nor y. From these of the chunks before its own, read from the other blocks' shared memory, it
// has the states that its chunk begins with. The delta rule is not split: what a chunk does to states there is a matrix.
//
// Memory traffic: x, dt, z and y once; b and c once for every Threads / Lanes channels of a group, from the L2 cache. Of a
// sequence that is split x, dt and b are read twice, the second time mostly from the L2 cache.

#include "../include/exponential.cuh"
#include "../include/mbarrier.cuh"
#include "../include/selective_scan.cuh"

// Without clusters, `from_block` and `mbarrier.cuh` are never used.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CUDA_KERNELS_CLUSTER(SIZE) __cluster_dims__(SIZE, 1, 1)
#else
#define CUDA_KERNELS_CLUSTER(SIZE)
#endif

namespace cuda_kernels {

// A rate of decay. Steps beyond the end take no time, and zero times an infinite rate is not a number.
__device__ __forceinline__ float finite_rate(float rate) { return rate < -3e38f ? -3e38f : rate; }

// Sums of `Lanes` numbers each over `Lanes` adjacent lanes: lane i gets the sum of the lanes' i-th numbers.
template <int Lanes>
__device__ __forceinline__ float transposed_sum(float (&numbers)[Lanes], int lane) {
#pragma unroll
  for (int width = Lanes / 2; width > 0; width /= 2) {
    const bool is_upper = (lane & width) != 0;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float kept = is_upper ? numbers[i + width] : numbers[i];
      const float sent = is_upper ? numbers[i] : numbers[i + width];
      numbers[i] = kept + __shfl_xor_sync(0xffffffffu, sent, width);
    }
  }
  return numbers[0];
}

template <class T, int Lanes, int Per, int Steps, bool Delta>
struct SelectiveScan {
  static constexpr int kThreads = 128;
  static constexpr int kChannels = kThreads / Lanes;
  static constexpr int kStates = Lanes * Per;
  static constexpr int kVector = Per < 4 ? Per : 4;
  static constexpr int kNumbers = Steps * kStates;
  static constexpr int kOfStates = (kNumbers + kThreads - 1) / kThreads;  // numbers of b, and of c, that a thread stages
  static constexpr int kOfChannels = Steps * kChannels / kThreads;        // of x, and of dt

  struct Shared {
    float b[Steps][kStates];
    float c[Steps][kStates];
    float x[Steps][kChannels];  // then y
    float u[Steps][kChannels];
    float decay[Steps][kChannels];  // or dt
    float beta[Delta ? Steps : 1][kChannels];
  };

  Shared& shared;
  const T *x, *b, *c, *z;
  const float *dt, *beta;
  T* y;
  int length, heads, elements, groups, states;  // of the whole, but of a sequence that is split the end of the chunk
  int head_of_group, first, channels;           // of the block: its group's first head, its first channel there, how many
  bool times_dt, plain;

  T next_b[kOfStates], next_c[kOfStates], next_x[kOfChannels];
  float next_dt[kOfChannels], next_beta[kOfChannels];

  __device__ __forceinline__ int head_of(int channel) const { return head_of_group + (first + channel) / elements; }

  // Asks for what `Steps` steps need; zeros beyond the end. A thread has numbers of one channel.
  template <bool WithSums>
  __device__ __forceinline__ void load(int start, int head) {
    const int left = length - start, of_step = groups * states;
    const T* const b_from = b + static_cast<long long>(start) * of_step;
    const T* const c_from = c + static_cast<long long>(start) * of_step;
#pragma unroll
    for (int i = 0; i < kOfStates; ++i) {
      const int at = i * kThreads + static_cast<int>(threadIdx.x), step = at / kStates, state = at % kStates;
      const bool is_there = at < kNumbers && step < left && state < states;
      const int from = step * of_step + state;
      next_b[i] = is_there ? b_from[from] : static_cast<T>(0.0f);
      if constexpr (WithSums) next_c[i] = is_there ? c_from[from] : static_cast<T>(0.0f);
    }
    const int channel = threadIdx.x % kChannels;
    const T* const x_from = x + static_cast<long long>(start) * heads * elements + channel;
    const float* const dt_from = dt + static_cast<long long>(start) * heads + head;
#pragma unroll
    for (int i = 0; i < kOfChannels; ++i) {
      const int step = (i * kThreads + static_cast<int>(threadIdx.x)) / kChannels;
      const bool is_there = step < left && channel < channels;
      next_x[i] = is_there ? x_from[step * (heads * elements)] : static_cast<T>(0.0f);
      next_dt[i] = is_there ? dt_from[step * heads] : (plain ? 1.0f : 0.0f);
      if constexpr (Delta)
        next_beta[i] = is_there ? beta[(static_cast<long long>(start) + step) * heads + head] : 0.0f;
    }
  }

  // Puts it into shared memory; `rate` is that of the thread's channel.
  template <bool ByHead, bool WithSums>
  __device__ __forceinline__ void stage(float rate) {
#pragma unroll
    for (int i = 0; i < kOfStates; ++i) {
      const int at = i * kThreads + static_cast<int>(threadIdx.x);
      if (kNumbers % kThreads != 0 && at >= kNumbers) break;
      shared.b[at / kStates][at % kStates] = static_cast<float>(next_b[i]);
      if constexpr (WithSums) shared.c[at / kStates][at % kStates] = static_cast<float>(next_c[i]);
    }
    const int channel = threadIdx.x % kChannels;
#pragma unroll
    for (int i = 0; i < kOfChannels; ++i) {
      const int step = (i * kThreads + static_cast<int>(threadIdx.x)) / kChannels;
      const float number = static_cast<float>(next_x[i]);
      shared.x[step][channel] = number;
      shared.u[step][channel] = times_dt ? number * next_dt[i] : number;
      shared.decay[step][channel] = ByHead && !plain ? exponential(next_dt[i] * rate) : next_dt[i];
      if constexpr (Delta) shared.beta[step][channel] = next_beta[i];
    }
  }

  __device__ __forceinline__ void store(int start) const {
    const int channel = threadIdx.x % kChannels;
    if (channel >= channels) return;
    const long long from = static_cast<long long>(start) * heads * elements + channel;
#pragma unroll 4
    for (int step = threadIdx.x / kChannels; step < min(Steps, length - start); step += Lanes) {
      const int at = step * (heads * elements);
      float number = shared.x[step][channel];
      if (z != nullptr) number = gated(number, static_cast<float>(z[from + at]));
      y[from + at] = static_cast<T>(number);
    }
  }

  template <bool ByHead>
  __device__ __forceinline__ void run(const float* a, int begin, float (&of_a)[Per], float (&state)[Per], float skip) {
    const int lane = threadIdx.x % Lanes, channel = threadIdx.x / Lanes, staged = threadIdx.x % kChannels;
    const int head = staged < channels ? head_of(staged) : 0;
    const float rate = ByHead ? finite_rate(a[head]) : 0.0f;
    load<true>(begin, head);
#pragma unroll 1
    for (int start = begin; start < length; start += Steps) {
      stage<ByHead, true>(rate);
      __syncthreads();
      if (start + Steps < length) load<true>(start + Steps, head);
#pragma unroll 1
      for (int at = 0; at < Steps && start + at < length; at += Lanes) {
        float sums[Lanes];
#pragma unroll
        for (int i = 0; i < Lanes; ++i) sums[i] = step<ByHead>(at + i, channel, lane, of_a, state);
        const float sum = transposed_sum<Lanes>(sums, lane);
        float& y = shared.x[at + lane][channel];
        y = sum + skip * y;
      }
      __syncthreads();
      store(start);
      __syncthreads();
    }
  }

  // Moves the states through the chunk without sums; by what it multiplies each of them. Steps beyond the end do nothing.
  template <bool ByHead>
  __device__ __forceinline__ void run_through(
      const float* a, int begin, const float (&of_a)[Per], float (&state)[Per], float (&factors)[Per]) {
    const int lane = threadIdx.x % Lanes, channel = threadIdx.x / Lanes, staged = threadIdx.x % kChannels;
    const int head = staged < channels ? head_of(staged) : 0;
    const float rate = ByHead ? finite_rate(a[head]) : 0.0f;
    const bool multiplies = ByHead || plain;  // else exponents are added up
    float total = multiplies ? 1.0f : 0.0f;
    load<false>(begin, head);
#pragma unroll 1
    for (int start = begin; start < length; start += Steps) {
      stage<ByHead, false>(rate);
      __syncthreads();
      if (start + Steps < length) load<false>(start + Steps, head);
#pragma unroll
      for (int at = 0; at < Steps; ++at) {
        const float u = shared.u[at][channel], decay = shared.decay[at][channel];
        total = multiplies ? total * decay : total + decay;
#pragma unroll
        for (int j = 0; j < Per; ++j)
          state[j] = state[j] * (multiplies ? decay : power_of_two(decay * of_a[j])) + u * shared.b[at][at_state(j, lane)];
      }
      __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < Per; ++j) factors[j] = multiplies ? total : power_of_two(total * of_a[j]);
  }

  // Moves the states by a step; the lane's part of the sum.
  template <bool ByHead>
  __device__ __forceinline__ float step(int at, int channel, int lane, const float (&of_a)[Per], float (&state)[Per]) {
    float u = shared.u[at][channel];
    const float decay = shared.decay[at][channel];
    if constexpr (Delta) {
      float known = 0.0f;
#pragma unroll
      for (int j = 0; j < Per; ++j) {
        state[j] *= ByHead || plain ? decay : power_of_two(decay * of_a[j]);
        known += state[j] * shared.b[at][at_state(j, lane)];
      }
#pragma unroll
      for (int width = Lanes / 2; width > 0; width /= 2) known += __shfl_xor_sync(0xffffffffu, known, width);
      u = shared.beta[at][channel] * (u - known);
    }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < Per; ++j) {
      const int n = at_state(j, lane);
      const float added = u * shared.b[at][n];
      if constexpr (Delta) {
        state[j] += added;
      } else {
        state[j] = state[j] * (ByHead || plain ? decay : power_of_two(decay * of_a[j])) + added;
      }
      sum += state[j] * shared.c[at][n];
    }
    return sum;
  }

  // Vectors of adjacent states go around the lanes: no bank of shared memory is asked twice.
  static __device__ __forceinline__ int at_state(int j, int lane) {
    return j / kVector * (Lanes * kVector) + lane * kVector + j % kVector;
  }
};

// What the threads of a block found of their chunk: states, and factors.
template <int Per>
struct ChunkStates {
  float states[Per][128], factors[Per][128];
};

// `Chunks` adjacent blocks, a cluster, have the same channels.
template <class T, int Lanes, int Per, int Steps, int Chunks, bool Delta>
__device__ __forceinline__ void scan_channels(DELTA_SCAN_OPERANDS(T)) {
  using Scan = SelectiveScan<T, Lanes, Per, Steps, Delta>;
  __shared__ typename Scan::Shared shared;
  const ScanBlock block(heads, elements, groups, Scan::kChannels, Chunks);
  const int head_of_group = block.group * block.heads_of_group;
  const long long row = block.batch * length;
  const long long of_channels = (row * heads + head_of_group) * elements + block.from;
  const long long of_states = (row * groups + block.group) * states;
  const int chunk = Chunks == 1 ? 0 : blockIdx.x % Chunks;
  const int steps = ((length + Chunks - 1) / Chunks + Steps - 1) / Steps * Steps;
  const int begin = Chunks == 1 ? 0 : min(chunk * steps, length), end = Chunks == 1 ? length : min(begin + steps, length);
  Scan scan = {shared, x + of_channels, b + of_states, c + of_states, z == nullptr ? z : z + of_channels,
               dt + row * heads, Delta ? beta + row * heads : beta, y + of_channels,
               end, heads, elements, groups, states,
               head_of_group, block.from, min(Scan::kChannels, block.of_group - block.from), times_dt != 0, plain != 0};

  const int lane = threadIdx.x % Lanes, channel = threadIdx.x / Lanes;
  const bool is_there = channel < scan.channels;
  const int head = is_there ? scan.head_of(channel) : 0;
  const long long of_state =
      ((block.batch * heads + head_of_group) * elements + block.from + channel) * static_cast<long long>(states);
  float state[Per], of_a[Per];
#pragma unroll
  for (int j = 0; j < Per; ++j) {
    const int n = Scan::at_state(j, lane);
    const bool has = is_there && n < states;
    state[j] = has && chunk == 0 && first != nullptr ? first[of_state + n] : 0.0f;
    of_a[j] = has && rates != 1 ? finite_rate(a[static_cast<long long>(head) * rates + n % rates] * kLog2E) : 0.0f;
  }
  if constexpr (Chunks > 1) {
    __shared__ ChunkStates<Per> found;
    float moved[Per], factors[Per];
#pragma unroll
    for (int j = 0; j < Per; ++j) moved[j] = state[j];
    if (chunk + 1 < Chunks) {
      if (rates == 1) {
        scan.template run_through<true>(a, begin, of_a, moved, factors);
      } else {
        scan.template run_through<false>(a, begin, of_a, moved, factors);
      }
#pragma unroll
      for (int j = 0; j < Per; ++j) {
        found.states[j][threadIdx.x] = moved[j];
        found.factors[j][threadIdx.x] = factors[j];
      }
    }
    cluster_sync();
#pragma unroll 1
    for (int before = 0; before < chunk; ++before)
#pragma unroll
      for (int j = 0; j < Per; ++j)
        state[j] = state[j] * from_block(found.factors[j][threadIdx.x], before) + from_block(found.states[j][threadIdx.x], before);
    cluster_arrive();
  }
  const float skip = is_there && d != nullptr ? d[head] : 0.0f;
  if (rates == 1) {
    scan.template run<true>(a, begin, of_a, state, skip);
  } else {
    scan.template run<false>(a, begin, of_a, state, skip);
  }
  if constexpr (Chunks > 1) cluster_wait();  // others read this block's shared memory no more
  if (chunk + 1 < Chunks) return;
#pragma unroll
  for (int j = 0; j < Per; ++j) {
    const int n = Scan::at_state(j, lane);
    if (is_there && n < states) last[of_state + n] = state[j];
  }
}

template <class T, int Lanes, int Per, int Steps, int Blocks>
__global__ void __launch_bounds__(128, Blocks) selective_scan(SCAN_OPERANDS(T)) {
  scan_channels<T, Lanes, Per, Steps, 1, false>(x, dt, a, b, c, d, z, nullptr, first, y, last, length, heads, elements,
                                                groups, states, rates, times_dt, plain);
}

template <class T, int Lanes, int Per, int Steps, int Blocks, int Chunks>
__global__ void CUDA_KERNELS_CLUSTER(Chunks) __launch_bounds__(128, Blocks) selective_scan_split(SCAN_OPERANDS(T)) {
  scan_channels<T, Lanes, Per, Steps, Chunks, false>(x, dt, a, b, c, d, z, nullptr, first, y, last, length, heads, elements,
                                                     groups, states, rates, times_dt, plain);
}

template <class T, int Lanes, int Per, int Steps, int Blocks>
__global__ void __launch_bounds__(128, Blocks) delta_scan(DELTA_SCAN_OPERANDS(T)) {
  scan_channels<T, Lanes, Per, Steps, 1, true>(x, dt, a, b, c, d, z, beta, first, y, last, length, heads, elements, groups,
                                               states, rates, times_dt, plain);
}

}  // namespace cuda_kernels
