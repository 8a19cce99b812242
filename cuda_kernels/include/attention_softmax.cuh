// Shared by the attention kernels that use tensor cores: scores, masks, the online softmax, and the epilogue from weighted
// sums to the result. To be included by kernels: #include "../include/attention_softmax.cuh".
//
// Accumulators are in blocks of 8 columns: lane 4 * g + t of a warp holds columns 2t and 2t + 1 of rows g
// and g + 8 of each block, as [4 * block + 2 * (which row) + (which column)].
#pragma once

#include "exponential.cuh"
#include "head_sizes.cuh"
#include "mask_spans.cuh"
#include "mma.cuh"
#include "pack.cuh"
#include "score_form.cuh"

namespace cuda_kernels {

// The larger of two numbers; NaN where one is, which fmaxf would leave out.
__device__ __forceinline__ float larger(float one, float other) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(one), "f"(other));
  return result;
}

// What is applied to the product of a query and a key before the exponential, in units of log2(e).
//
// Usually it is only multiplied by the scale, in the same instruction as the subtraction of the maximum (`factor`). With a
// mask that adds something, or a scale that changes the order, `adjust` does that first, and the factor is 1. A mask that
// only hides keys, of which spans are known, is applied by its bits, and where the tile needs it alone.
template <class T, class Form = ScoreForm<T>>
struct Scoring : Form {
  const TileMask& mask;
  bool causal;
  float scale;
  static constexpr float kLowest = -3e38f;
  int behind = 0;       // keys that a causal query sees in addition to those up to its own index
  bool begins = false;  // whether it sees none before its own index plus `before`
  int before = 0;

  __device__ __forceinline__ bool adjusts() const { return mask.adds() || !(scale > 0.0f) || Form::changes(); }
  __device__ __forceinline__ float factor() const { return adjusts() ? 1.0f : scale * kLog2E; }

  // The number of keys that a query sees for being causal.
  __device__ __forceinline__ int seen(int query) const { return causal ? min(mask.keys, query + 1 + behind) : mask.keys; }

  // Adjusts the scores of two queries in blocks of 8 columns, of which this thread has `key`, `key + 1`, ... in the tile
  // that begins at `start`, a multiple of 16: hidden keys get -inf. `rows` are those of the mask that the queries have.
  // `is_cut` says whether the tile may contain keys that some rows do not see for being causal; `is_adjusted`, that
  // `add_numbers` has done its part.
  template <int Size>
  __device__ __forceinline__ void apply(
      float (&scores)[Size], const int (&query)[2], const int (&rows)[2], int start, int key, bool is_cut,
      bool is_adjusted = false) const {
    if (adjusts() && !is_adjusted) {
#pragma unroll
      for (int i = 0; i < Size; ++i) scores[i] = adjusted(scores[i], rows[i % 4 / 2], key + i / 4 * 8 + i % 2);
    }
    static_assert(Size % 8 == 0, "whole pairs of blocks");  // whole words of bits, or the last one is half, or its lower half
    if (mask.hides(start, 2 * Size)) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int i = 0; i < Size; i += 16) {  // 32 keys
          const unsigned bits = mask.bits(rows[half], start + 2 * i) >> (start % 32 + key - start);
#pragma unroll
          for (int j = 2 * half; j < 16 && i + j < Size; j += 4)
#pragma unroll
            for (int column = 0; column < 2; ++column)
              if (!(bits >> (j / 4 * 8 + column) & 1)) scores[i + j + column] = -INFINITY;
        }
    }
    if (is_cut) {
      const int limits[2] = {seen(query[0]) - key, seen(query[1]) - key};
#pragma unroll
      for (int i = 0; i < Size; ++i)
        if (i / 4 * 8 + i % 2 >= limits[i % 4 / 2]) scores[i] = -INFINITY;
    }
    if (begins && start < query[1] + before) {
#pragma unroll
      for (int i = 0; i < Size; ++i)
        if (i / 4 * 8 + i % 2 < query[i % 4 / 2] + before - key) scores[i] = -INFINITY;
    }
  }

  // What `apply` does with numbers of the mask where they are a tile in shared memory of `Rows` rows, as `attention_tiles.cuh`
  // says: `numbers` is where this lane's row of ldmatrix begins, of the first 16 keys.
  template <int Rows, int Size>
  __device__ __forceinline__ void add_numbers(float (&scores)[Size], unsigned numbers) const {
#pragma unroll
    for (int column = 0; column < 2 * Size; column += 16) {
      unsigned pairs[4];
      ldmatrix(pairs, (numbers ^ column % 64 * 2) + column / 64 * Rows * 128);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float* const two = scores + column / 2 + 2 * i;
        const float2 values = unpacked_pair<T>(pairs[i]);
        two[0] = plus(scaled(two[0]), values.x);
        two[1] = plus(scaled(two[1]), values.y);
      }
    }
  }

  __device__ __forceinline__ float adjusted(float score, int row, int key) const {
    score = scaled(score);
    if (!mask.adds() || key >= mask.keys) return score;
    // The lowest finite number stays one: where a query's keys all have it, it sees their mean.
    const float value = mask.template value<T>(row, key);
    return score + (value == -INFINITY ? value : larger(value * kLog2E, kLowest));
  }

  __device__ __forceinline__ float scaled(float score) const {
    if constexpr (Form::kIsUsual) {
      return score * (scale * kLog2E);
    } else {
      return Form::scaled(score, scale);
    }
  }

  // A score plus a number of the mask, as `adjusted` adds it, in fewer instructions: -inf stays -inf, and what is finite
  // stays finite, since the other branch of the maximum is where the product overflows.
  __device__ __forceinline__ static float plus(float score, float value) {
    const float sum = fmaf(value, kLog2E, score);
    if constexpr (kOverflows<T> && Form::kMayHide) {
      return score == -INFINITY ? score : larger(sum, fmaf(value, 0.0885f, kLowest));
    } else if constexpr (kOverflows<T>) {
      return larger(sum, fmaf(value, 0.0885f, kLowest));
    } else {
      return sum;
    }
  }
};

// The online softmax of this thread's part of two rows of scores, in blocks of 8 columns like the accumulators
// of tensor cores: scores[4 * block + 2 * row + column]. Four neighbouring lanes share the rows.
struct Softmax {
  static constexpr float kSlack = 8.0f;
  float maxima[2] = {-INFINITY, -INFINITY};  // the base of the weights
  float sums[2] = {0.0f, 0.0f};  // over this thread's columns

  // Turns scores into weights, relative to 2^base of the row. The base follows the maximum only when it lags behind by
  // more than kSlack. Weights may then be as large as 2^kSlack, which changes only a common factor, and most tiles do
  // not rescale the sums. Returns whether the caller has to rescale them, by `rescale`. Where several warps share the rows,
  // `share` makes the maxima of both those of all.
  template <int Size>
  __device__ __forceinline__ bool online_softmax(float (&scores)[Size], float factor, float (&rescale)[2]) {
    return online_softmax(scores, factor, rescale, [](float (&)[2]) {});
  }
  template <int Size, class Share>
  __device__ __forceinline__ bool online_softmax(float (&scores)[Size], float factor, float (&rescale)[2], Share share) {
    static_assert(Size % 8 == 0, "whole blocks of 8 columns, twice");
    // Four independent chains for each row.
    float highest[8], sum[4] = {}, base[2];
#pragma unroll
    for (int i = 0; i < 8; ++i) highest[i] = fmaxf(maxima[i / 2 % 2], scores[i]);
#pragma unroll
    for (int i = 8; i < Size; ++i) highest[i % 8] = fmaxf(highest[i % 8], scores[i]);
    bool grows = false;
    float both[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float& maximum = both[row];
      maximum = fmaxf(fmaxf(highest[2 * row], highest[2 * row + 1]), fmaxf(highest[2 * row + 4], highest[2 * row + 5]));
      maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, 1));
      maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, 2));
    }
    share(both);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float maximum = both[row], before = maxima[row] * factor;
      rescale[row] = 1.0f;
      if ((maximum - maxima[row]) * factor > kSlack) {
        maxima[row] = maximum;
        rescale[row] = power_of_two(before - maximum * factor);
        grows = true;
      }
      // While all scores are -inf, any finite number can replace their maximum.
      base[row] = maxima[row] == -INFINITY ? 0.0f : maxima[row] * factor;
    }
#pragma unroll
    for (int i = 0; i < Size; ++i) {
      scores[i] = power_of_two(scores[i] * factor - base[i % 4 / 2]);
      sum[i % 4] += scores[i];
    }
#pragma unroll
    for (int row = 0; row < 2; ++row) sums[row] = sums[row] * rescale[row] + (sum[2 * row] + sum[2 * row + 1]);
    return __any_sync(0xffffffffu, grows);
  }

  // The sum of a row's weights.
  __device__ __forceinline__ float total(int row) const {
    const float sum = sums[row] + __shfl_xor_sync(0xffffffffu, sums[row], 1);
    return sum + __shfl_xor_sync(0xffffffffu, sum, 2);
  }
};

// Adds the share of a head's sink to the sums of weights, by one of the four lanes that share a row.
template <class Form>
__device__ __forceinline__ void add_sinks(const Form& form, Softmax& softmax, float factor, int head, int lane) {
  if constexpr (!Form::kIsUsual) {
    for (int row = 0; row < 2; ++row)
      if (lane % 4 == 0) softmax.sums[row] += form.sinks.weight(head, softmax.maxima[row] * factor);
  }
}

// The weights of 16 keys, rounded, as the left operand of a product.
template <class T>
__device__ __forceinline__ void pack_weights(unsigned (&packed)[4], const float* weights) {
#pragma unroll
  for (int i = 0; i < 4; ++i) packed[i] = packed_pair<T>(weights[2 * i], weights[2 * i + 1]);
}

// Of four words of each of four neighbouring lanes, gives lane t word t of each, in their order.
__device__ __forceinline__ void transpose_quad(unsigned (&words)[4], int lane) {
  const bool is_odd = lane % 2 == 1, is_high = lane % 4 >= 2;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const unsigned other = __shfl_xor_sync(0xffffffffu, is_odd ? words[i] : words[i + 1], 1);
    words[i] = is_odd ? other : words[i];
    words[i + 1] = is_odd ? words[i + 1] : other;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned other = __shfl_xor_sync(0xffffffffu, is_high ? words[i] : words[i + 2], 2);
    words[i] = is_high ? other : words[i];
    words[i + 2] = is_high ? words[i + 2] : other;
  }
}

// Writes a thread's part of a row of a result, which begins at `to`, times `share`: of its two rows, number `Half`,
// a parameter of the template since ptxas spills in kernels with little room where it is an argument. `packs` says
// whether 16 bytes can be written at once: then the lanes that share a row exchange what they have, so that each has whole
// blocks of 8 columns. Single words would take several times as long.
template <int Half, class Head, class T, int Size>
__device__ __forceinline__ void store_row(const Head& head_sizes,
                                          T* to,
                                          bool is_there,
                                          const float (&result)[Size],
                                          float share,
                                          int lane,
                                          bool packs) {
  constexpr int kBlocks = Size / 4;
  const int value_dim = head_sizes.value_dim();
  if (packs) {
#pragma unroll
    for (int block = 0; block < kBlocks; block += 4) {
      unsigned words[4] = {};
#pragma unroll
      for (int i = 0; i < 4 && block + i < kBlocks; ++i) {
        const float* const pair = result + 4 * (block + i) + 2 * Half;
        words[i] = packed_pair<T>(pair[0] * share, pair[1] * share);
      }
      transpose_quad(words, lane);
      const int column = (block + lane % 4) * 8;
      const bool is_whole = Head::kIsExact && kBlocks % 4 == 0;
      if (is_there && (is_whole || column < value_dim))
        *reinterpret_cast<uint4*>(to + column) = {words[0], words[1], words[2], words[3]};
    }
  } else if (is_there) {
#pragma unroll
    for (int i = 2 * Half; i < Size; i += 4)
#pragma unroll
      for (int next = 0; next < 2; ++next) {
        const int column = i / 4 * 8 + lane % 4 * 2 + next;
        if (Head::kIsExact || column < value_dim) to[column] = static_cast<T>(result[i + next] * share);
      }
  }
}

// The same of two rows, `query` and `query + 8`, of a head's result [queries, value_dim], whose rows are `step` elements apart,
// divided by the sums of their weights.
template <class Head, class T, int Size>
__device__ __forceinline__ void store_result(const Head& head_sizes,
                                             T* out,
                                             const float (&result)[Size],
                                             const Softmax& softmax,
                                             int query,
                                             int queries,
                                             long long step,
                                             int lane,
                                             bool packs) {
  const auto share = [](float total) { return total == 0.0f ? 0.0f : 1.0f / total; };
  store_row<0>(head_sizes, out + query * step, query < queries, result, share(softmax.total(0)), lane, packs);
  store_row<1>(head_sizes, out + (query + 8) * step, query + 8 < queries, result, share(softmax.total(1)), lane, packs);
}

}  // namespace cuda_kernels
