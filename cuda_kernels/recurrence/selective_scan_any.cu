// As selective_scan.cu, for any number of states, and for CPUs: a lane has a channel.
//
// Of `kSteps` steps at a time, one state runs after the other, so that it stays in a register meanwhile: what changes with
// every step is 32 numbers beside each other, the vectors of a CPU. The states wait in `last`. In the delta rule all of them
// are needed for each step: they are in shared memory, 32 channels beside each other.

#include "../include/exponential.cuh"
#include "../include/selective_scan.cuh"

namespace cuda_kernels {

template <class T, bool Delta>
__device__ __forceinline__ void scan_any(DELTA_SCAN_OPERANDS(T)) {
  constexpr int kSteps = 32;
  __shared__ float us[kSteps][32], decays[kSteps][32], sums[kSteps][32];
  extern __shared__ float kept[];  // [states][32], in the delta rule
  const int lane = threadIdx.x;
  const ScanBlock block(heads, elements, groups, 32);
  const bool is_there = block.from + lane < block.of_group;
  const int channel = is_there ? block.from + lane : 0;
  const int of_group = block.group * block.heads_of_group, head = of_group + channel / elements;
  const long long row = block.batch * length;
  const long long of_channel = (row * heads + of_group) * elements + channel;
  const long long of_row = static_cast<long long>(heads) * elements, of_b = static_cast<long long>(groups) * states;
  x += of_channel;
  y += of_channel;
  dt += row * heads + head;
  b += (row * groups + block.group) * states;
  c += (row * groups + block.group) * states;
  a += static_cast<long long>(head) * rates;
  last += ((block.batch * heads + of_group) * elements + channel) * states;
  if (first != nullptr) first += ((block.batch * heads + of_group) * elements + channel) * states;
  const float skip = d != nullptr ? d[head] : 0.0f;
  const bool by_head = rates == 1 || plain != 0;
  for (int n = 0; n < states; ++n) {
    const float state = first != nullptr ? first[n] : 0.0f;
    if constexpr (Delta) {
      kept[n * 32 + lane] = state;
    } else if (is_there) {
      last[n] = state;
    }
  }

#pragma unroll 1
  for (int start = 0; start < length; start += kSteps) {
    const int steps = min(kSteps, length - start);
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      const float number = static_cast<float>(x[(start + i) * of_row]);
      const float time = dt[static_cast<long long>(start + i) * heads];
      us[i][lane] = times_dt != 0 ? number * time : number;
      decays[i][lane] = by_head && plain == 0 ? exponential(time * a[0]) : time;
      sums[i][lane] = skip * number;
    }
    const T* const b_tile = b + start * of_b;
    const T* const c_tile = c + start * of_b;
    if constexpr (Delta) {
      const float* const betas = beta + row * heads + head;
#pragma unroll 1
      for (int i = 0; i < steps; ++i) {
        const T* const b_row = b_tile + i * of_b;
        const T* const c_row = c_tile + i * of_b;
        const float decay = decays[i][lane];
        float known = 0.0f;
#pragma unroll 1
        for (int n = 0; n < states; ++n) {
          const float state = kept[n * 32 + lane] * (by_head ? decay : exponential(decay * a[n % rates]));
          kept[n * 32 + lane] = state;
          known += state * static_cast<float>(b_row[n]);
        }
        const float u = betas[static_cast<long long>(start + i) * heads] * (us[i][lane] - known);
        float sum = 0.0f;
#pragma unroll 1
        for (int n = 0; n < states; ++n) {
          const float state = kept[n * 32 + lane] + u * static_cast<float>(b_row[n]);
          kept[n * 32 + lane] = state;
          sum += state * static_cast<float>(c_row[n]);
        }
        sums[i][lane] += sum;
      }
    } else {
#pragma unroll 1
      for (int n = 0; n < states; ++n) {
        float state = last[n];
        const T* b_at = b_tile + n;
        const T* c_at = c_tile + n;
        if (by_head) {
#pragma unroll 1
          for (int i = 0; i < steps; ++i, b_at += of_b, c_at += of_b) {
            state = state * decays[i][lane] + us[i][lane] * static_cast<float>(*b_at);
            sums[i][lane] += state * static_cast<float>(*c_at);
          }
        } else {
          const float rate = a[n % rates] * kLog2E;
#pragma unroll 1
          for (int i = 0; i < steps; ++i, b_at += of_b, c_at += of_b) {
            state = state * power_of_two(decays[i][lane] * rate) + us[i][lane] * static_cast<float>(*b_at);
            sums[i][lane] += state * static_cast<float>(*c_at);
          }
        }
        if (is_there) last[n] = state;
      }
    }
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      float number = sums[i][lane];
      const long long at = (start + i) * of_row;
      if (z != nullptr) number = gated(number, static_cast<float>(z[of_channel + at]));
      if (is_there) y[at] = static_cast<T>(number);
    }
  }
  if constexpr (Delta)
    for (int n = 0; n < states; ++n)
      if (is_there) last[n] = kept[n * 32 + lane];
}

template <class T>
__global__ void __launch_bounds__(32) selective_scan_any(SCAN_OPERANDS(T)) {
  scan_any<T, false>(x, dt, a, b, c, d, z, nullptr, first, y, last, length, heads, elements, groups, states, rates, times_dt,
                     plain);
}

template <class T>
__global__ void __launch_bounds__(32) delta_scan_any(DELTA_SCAN_OPERANDS(T)) {
  scan_any<T, true>(x, dt, a, b, c, d, z, beta, first, y, last, length, heads, elements, groups, states, rates, times_dt,
                    plain);
}

}  // namespace cuda_kernels
