// What is known of a mask: `../attention/mask_spans.cu` writes it, attention reads it. To be included by kernels:
// #include "../include/mask_spans.cuh".
//
// A Span for each kSpanRows rows of each head of the mask, in kSpanWords words; and then, for each row, a bit for each key,
// in as many words as whole 128 keys have, with zeros behind the last key.
#pragma once

namespace cuda_kernels {

constexpr int kSpanRows = 64, kSpanWords = 8;

// Spans of a head with so many rows.
__device__ __forceinline__ int spans_of_rows(int rows) { return (rows + kSpanRows - 1) / kSpanRows; }

// Of a row.
__device__ __forceinline__ unsigned words_of_bits(int keys) { return (keys + 127) / 128 * 4; }

// The keys that some rows see.
struct Span {
  int begin, end;              // of the keys that any of them sees
  int whole_begin, whole_end;  // of keys that all of them see; the same number twice if there are none
  int adds;                    // whether the mask adds something to scores
  int lows;                    // whether finite numbers hide keys, beside others that are shown

  __device__ __forceinline__ static Span of_nothing() { return {0x7fffffff, 0, 0, 0x7fffffff, 0, 0}; }
  __device__ __forceinline__ static Span of_all(int keys) { return {0, keys, 0, 0x7fffffff, 0, 0}; }

  // That of more rows.
  __device__ __forceinline__ void add(const Span& other) {
    begin = min(begin, other.begin);
    end = max(end, other.end);
    whole_begin = max(whole_begin, other.whole_begin);
    whole_end = min(whole_end, other.whole_end);
    adds |= other.adds;
    lows |= other.lows;
  }

  __device__ __forceinline__ void write(int* to) const {
    to[0] = begin;
    to[1] = end;
    to[2] = whole_begin;
    to[3] = whole_end;
    to[4] = adds;
    to[5] = lows;
    to[6] = to[7] = 0;
  }

  __device__ __forceinline__ static Span read(const int* __restrict__ from, bool needs_lows) {
    return {from[0], from[1], from[2], from[3], from[4], needs_lows ? from[5] : 0};
  }
};

// What scores need of the mask of a tile of queries of a head. Rows are numbered from the tile's first one.
struct TileMask {
  enum Kind { kNone, kBools, kNumbers, kBits };
  const void* values;  // of the kind
  Kind kind;
  int last_row, keys;
  int whole_begin, whole_end;  // of keys that all queries of the tile see, of bits

  // That of a query, counted from the tile's first one. There is a row for each, or one for all.
  __device__ __forceinline__ int row(int query) const { return min(query, last_row); }
  __device__ __forceinline__ bool adds() const { return kind == kBools || kind == kNumbers; }

  // Whether some query may not see all of these keys.
  __device__ __forceinline__ bool hides(int start, int count) const {
    return kind == kBits && (start < whole_begin || start + count > whole_end);
  }

  // 32 bits of a row, of which the lowest is that of key `start`, a multiple of 32.
  __device__ __forceinline__ unsigned bits(int row, int start) const {
    return static_cast<const unsigned*>(values)[row * words_of_bits(keys) + start / 32];
  }

  __device__ __forceinline__ bool shows(int row, int key) const { return bits(row, key / 32 * 32) >> key % 32 & 1; }

  // What is added to a score.
  template <class T>
  __device__ __forceinline__ float value(int row, int key) const {
    const unsigned at = row * static_cast<unsigned>(keys) + key;
    return kind == kBools ? (static_cast<const bool*>(values)[at] ? 0.0f : -INFINITY)
                          : static_cast<float>(static_cast<const T*>(values)[at]);
  }
};

// The mask of one head of queries, and what is known of it.
struct HeadMask {
  const char* values;  // null if there is none
  const int* spans;    // null if nothing is known
  const int* all_bits;
  TileMask::Kind kind;  // of the values
  int bytes;            // of one of them
  int rows, keys;
  bool scores_hide;  // whether scores may be -inf themselves

  // Parameters: the mask [batches, heads, rows, keys], of elements of `bytes` if they are no bools, of which batches, heads
  // and rows may be 1 for all; and the number of a sequence and of a head.
  __device__ __forceinline__ HeadMask(const void* mask, const int* all_spans, bool is_bool, int bytes_of_number,
                                      int batches, int heads, int mask_rows, int of_keys, int sequence, int head,
                                      bool may_scores_hide)
      : values(static_cast<const char*>(mask)),
        spans(all_spans),
        all_bits(all_spans),
        kind(mask == nullptr ? TileMask::kNone : is_bool ? TileMask::kBools : TileMask::kNumbers),
        bytes(is_bool ? 1 : bytes_of_number),
        rows(mask_rows),
        keys(of_keys),
        scores_hide(may_scores_hide) {
    const long long number = static_cast<long long>(batches == 1 ? 0 : sequence) * heads + (heads == 1 ? 0 : head);
    if (values != nullptr) values += number * rows * keys * bytes;
    if (spans != nullptr) {
      const int of_head = spans_of_rows(rows) * kSpanWords;
      all_bits += static_cast<long long>(batches) * heads * of_head + number * rows * words_of_bits(keys);
      spans += number * of_head;
    }
  }

  // Of the queries from `first` on; all keys, and none seen for sure, if nothing is known.
  __device__ __forceinline__ Span span(int first, int queries) const {
    if (spans == nullptr) return Span::of_all(keys);
    Span found = Span::of_nothing();
    const int last = rows == 1 ? 0 : min(first + queries, rows) - 1;
#pragma unroll 1
    for (int group = (rows == 1 ? 0 : first) / kSpanRows; group <= last / kSpanRows; ++group)
      found.add(Span::read(spans + group * kSpanWords, scores_hide));
    return known(found);
  }

  // Of all queries of `heads` heads from this one on, each of which has a mask of its own.
  __device__ __forceinline__ Span span_of_heads(int heads) const {
    if (spans == nullptr) return Span::of_all(keys);
    Span found = Span::of_nothing();
    for (int group = 0; group < heads * spans_of_rows(rows); ++group)
      found.add(Span::read(spans + group * kSpanWords, scores_hide));
    return known(found);
  }

  // Where scores hide all that a row shows, it is the mean of what the lowest numbers hide: these have to be added then.
  __device__ __forceinline__ Span known(const Span& span) const {
    return scores_hide && span.lows ? Span{0, keys, 0, 0, 1, 1} : span;
  }

  // Whether numbers are added to scores of queries that have this span.
  __device__ __forceinline__ bool adds_numbers(const Span& span) const {
    return values != nullptr && kind == TileMask::kNumbers && (spans == nullptr || span.adds);
  }

  // What scores need of it, for queries from `first` on that have this span.
  __device__ __forceinline__ TileMask of_tile(int first, const Span& span) const {
    const int first_row = rows == 1 ? 0 : min(first, rows - 1), last = rows - 1 - first_row;
    if (values != nullptr && (spans == nullptr || span.adds))
      return {values + static_cast<long long>(first_row) * keys * bytes, kind, last, keys, 0, 0};
    if (spans == nullptr) return {nullptr, TileMask::kNone, last, keys, 0, 0};
    const int* const bits = all_bits + static_cast<long long>(first_row) * words_of_bits(keys);
    return {bits, TileMask::kBits, last, keys, span.whole_begin, span.whole_end};
  }
};

}  // namespace cuda_kernels
