// y = act(convolution(x, weight) * factor + summand + residual) of channels-last images, for f16, bf16 and f32, in f32, on
// the tensor cores of sm_80 and later. x and y are [images, height, width, channels], the weights [filters, rows, columns,
// channels / groups]. Any strides, paddings, dilations, groups and sizes.
//
// Implicit GEMM: A [positions, k] has at an output's position and (row, column, channel) the element of x that these
// multiply, and B is the weights, [filters, k]. Channels lie side by side, so a chunk of 16 bytes of a row of A is one of x,
// or zeros outside the image: it goes by cp.async from x into a stage, as the weights do. Positions go on from image to
// image, so all images fill the tiles.
//
//   cp.async    x, weights -> one of `Stages` stages in shared memory (../include/tile.cuh), Stages - 1 steps ahead;
//   ldmatrix    shared memory -> registers, as for products; mma.sync -> accumulators.
//
// A thread copies chunks of several positions for the same row, column and channel. So where these are in x is computed once
// a step for all of them, without divisions. Channels that are no whole 16 bytes are copied in 8 or 4 bytes, and those of
// an odd number of 16 bits element by element.
//
// Memory traffic: x is read by filters / TileN blocks for each tap, all but the first from the L2 cache; the weights by
// positions / TileM; y is written once.

#include "../include/convolution_last.cuh"
#include "../include/multiply.cuh"
#include "../include/tile.cuh"

namespace cuda_kernels {

// The largest copy, in bytes, that rows of `columns` elements from an address allow; 0 where there is none.
template <class T>
__device__ __forceinline__ int copy_bytes(const T* from, int columns) {
  const unsigned long long bits = reinterpret_cast<unsigned long long>(from) | columns * sizeof(T);
  return bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : 0;
}

// A thread's share of the copies of A.
template <class T, class Offset, int TileM, int TileK, int Threads>
struct Gathered {
  static constexpr int chunks = TileK / kPack<T>, at_once = Threads / chunks, count = TileM / at_once;
  static_assert(Threads % chunks == 0 && TileM % at_once == 0 && at_once % 8 == 0, "as for Copies");
  static constexpr bool kIsPacked = sizeof(Offset) == 4;
  static constexpr int kNowhere = kIsPacked ? -0x8000 : -0x40000000;  // no tap is so far down

  const LastSizes& of;
  const T* const x;
  Offset from[count];             // the first tap of each position, maybe outside of x
  int top[count], left[count];    // and where it is in its image; if Offset has 32 bits, both are in `top`
  int row, column, channel;       // of the chunk: of the taps, and of x's channels
  int rows_on, columns_on, channels_on;  // the same for a step
  int rest;                       // elements of k from the chunk on
  const int apart;                // elements from position to position of x
  const int bytes;                // of a copy
  unsigned to;                    // the first chunk's place in a stage

  __device__ __forceinline__ Gathered(const T* x, const LastSizes& of, int group, int first)
      : of(of), x(x + group * of.channels), apart(of.groups * of.channels), bytes(copy_bytes(x, of.channels)) {
    const int chunk = threadIdx.x % chunks, at = chunk * kPack<T>, of_image = of.out_height * of.out_width;
    const int tap = at / of.channels, taps_on = TileK / of.channels;
    to = swizzled<TileK, T>(threadIdx.x / chunks, chunk);
    row = tap / of.columns, column = tap - row * of.columns, channel = at - tap * of.channels;
    rows_on = taps_on / of.columns, columns_on = taps_on - rows_on * of.columns;
    channels_on = TileK - taps_on * of.channels;
    rest = of.rows * of.columns * of.channels - at;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int position = first + threadIdx.x / chunks + i * at_once, image = position / of_image;
      const int in_image = position - image * of_image, out_row = in_image / of.out_width;
      // Of what is behind the last position nothing is in the image.
      const int down = position < of.positions() ? out_row * of.stride_h - of.padding_h : kNowhere;
      const int across = (in_image - out_row * of.out_width) * of.stride_w - of.padding_w;
      top[i] = kIsPacked ? down << 16 | (across & 0xffff) : down;
      if constexpr (!kIsPacked) left[i] = across;
      from[i] = ((static_cast<Offset>(image) * of.height + down) * of.width + across) * apart;
    }
  }

  // Whether position `i` has a tap so far down and across.
  __device__ __forceinline__ bool is_in_image(int i, int down, int across) const {
    const int row = (kIsPacked ? top[i] >> 16 : top[i]) + down;
    const int column = (kIsPacked ? static_cast<short>(top[i] & 0xffff) : left[i]) + across;
    return static_cast<unsigned>(row) < static_cast<unsigned>(of.height) &&
           static_cast<unsigned>(column) < static_cast<unsigned>(of.width);
  }

  // The next channels: `on` further, at most as many as there are.
  __device__ __forceinline__ static void pass(const LastSizes& of, int& row, int& column, int& channel) {
    if (channel >= of.channels) channel -= of.channels, ++column;
    if (column >= of.columns) column -= of.columns, ++row;
  }

  template <int Size>
  __device__ __forceinline__ void begin(unsigned tile) const {
    constexpr int unit = Size / sizeof(T);
    int row = this->row, column = this->column, channel = this->channel;
#pragma unroll 1
    for (int piece = 0; piece < 16 / Size; ++piece) {
      const int down = row * of.dilation_h, across = column * of.dilation_w;
      const Offset offset = (static_cast<Offset>(down) * of.width + across) * apart + channel;
      const bool is_tap = rest > piece * unit;
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const bool is_there = is_tap && is_in_image(i, down, across);
        cp_async<Size>(tile + to + i * at_once * TileK * sizeof(T) + piece * Size, x + (from[i] + offset),
                       is_there ? Size : 0);
      }
      channel += unit;
      pass(of, row, column, channel);
    }
  }

  // Element by element, from any addresses.
  __device__ __forceinline__ void copy_elements(unsigned char* tile) const {
#pragma unroll 1
    for (int e = 0; e < kPack<T>; ++e) {
      const int more = channel + e, tap = more / of.channels, at = column + tap, rows_on = at / of.columns;
      const int down = (row + rows_on) * of.dilation_h, across = (at - rows_on * of.columns) * of.dilation_w;
      const Offset offset = (static_cast<Offset>(down) * of.width + across) * apart + (more - tap * of.channels);
#pragma unroll
      for (int i = 0; i < count; ++i) {
        T number = T(0.0f);
        if (rest > e && is_in_image(i, down, across)) number = x[from[i] + offset];
        *reinterpret_cast<T*>(tile + to + i * at_once * TileK * sizeof(T) + e * sizeof(T)) = number;
      }
    }
  }

  __device__ __forceinline__ void advance() {
    rest -= TileK;
    row += rows_on, column += columns_on, channel += channels_on;
    pass(of, row, column, channel);
  }
};

// The mainloop of tile.cuh, whose A is gathered.
template <class T, class Offset, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN, int WarpsK>
struct ConvolutionMainloop : MainloopSm80<T, true, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK> {
  using Base = MainloopSm80<T, true, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  using typename Base::Tile;

  Gathered<T, Offset, TileM, TileK, Base::threads> gathered;
  const int weight_bytes;  // of a copy of weights

  __device__ __forceinline__ ConvolutionMainloop(const T* x, const T* weight, const LastSizes& of, const Tile& tile,
                                                 unsigned char* stages)
      : Base(weight, weight, tile, 0, of.filters, of.rows * of.columns * of.channels, stages),
        gathered(x, of, tile.number, tile.m),
        weight_bytes(copy_bytes(weight, of.rows * of.columns * of.channels)) {}

  template <int Size>
  __device__ __forceinline__ void begin_weights(unsigned tile) const {
    constexpr int unit = Size / sizeof(T);
#pragma unroll
    for (int i = 0; i < Base::OfB::count; ++i)
#pragma unroll
      for (int piece = 0; piece < 16 / Size; ++piece)
        cp_async<Size>(tile + this->of_b.to + this->of_b.offset(i) + piece * Size, this->of_b.source(i) + piece * unit,
                       this->of_b.columns > piece * unit && i * Base::OfB::at_once < this->of_b.rows ? Size : 0);
  }

  // Copies the next step, or issues its copies; all are of 16 bytes if they are whole.
  template <bool IsWhole>
  __device__ __forceinline__ void begin() {
    const unsigned tile = shared_address(this->stages) + this->written;
    if constexpr (IsWhole) {
      gathered.template begin<16>(tile);
      begin_weights<16>(tile + Base::a_bytes);
      return;
    }
    switch (gathered.bytes) {
      case 16: gathered.template begin<16>(tile); break;
      case 8: gathered.template begin<8>(tile); break;
      case 4: gathered.template begin<4>(tile); break;
      default: gathered.copy_elements(this->stages + this->written);
    }
    switch (weight_bytes) {
      case 16: begin_weights<16>(tile + Base::a_bytes); break;
      case 8: begin_weights<8>(tile + Base::a_bytes); break;
      case 4: begin_weights<4>(tile + Base::a_bytes); break;
      default: this->of_b.copy_elements(this->stages + this->written + Base::a_bytes);
    }
  }

  __device__ __forceinline__ void commit() {
    cp_async_commit();
    Base::advance(this->written);
    this->of_b.from += TileK;
    this->of_b.columns -= TileK;
    gathered.advance();
  }

  template <class Products>
  __device__ __forceinline__ void run(const Products& multiply) {
    if (gathered.bytes == 16 && weight_bytes == 16) {
      run_with<true>(multiply);
    } else {
      run_with<false>(multiply);
    }
  }

  // As of the base.
  template <bool IsWhole, class Products>
  __device__ __forceinline__ void run_with(const Products& multiply) {
#pragma unroll 1
    for (int step = 0; step < Stages - 1; ++step) {
      if (step * TileK < this->k) begin<IsWhole>();
      commit();
    }
    cp_async_wait<Stages - 2>();
    __syncthreads();
    this->load_fragments(0);
#pragma unroll 1
    for (int done = 0; done < this->k; done += TileK) {
#pragma unroll
      for (int slice = 0; slice < Base::slices; ++slice) {
        if (slice + 1 == Base::slices) {
          commit();
          cp_async_wait<Stages - 2>();
          __syncthreads();
          Base::advance(this->read);
        }
        this->load_fragments((slice + 1) % Base::slices);
        if (slice == 0 && done + (Stages - 1) * TileK < this->k) begin<IsWhole>();
        multiply(this->a_fragments[slice % 2], this->b_fragments[slice % 2]);
      }
    }
    cp_async_wait<0>();
    __syncthreads();  // the stages are free
  }
};

// The activation of adjacent numbers: chosen once for all of them.
template <class T>
__device__ __forceinline__ void activate(int which, float (&values)[kUnit], float slope) {
  if (which == kIdentity) return;
  if (which == kRelu) {
#pragma unroll
    for (float& value : values) value = Relu::of<T>(value);
    return;
  }
#pragma unroll
  for (float& value : values) value = activated<T>(which, value, slope);
}

// Writes the sums, through the shared memory of the stages: as many rows of fragments at once as fit. So a thread writes
// adjacent filters, and the sums of warps that slice k are reduced.
template <class Loop, class T>
__device__ __forceinline__ void finish(const float (&accumulators)[Loop::rows][Loop::columns][4], unsigned char* stages,
                                       const float* factor, const float* summand, const T* residual, T* y,
                                       const typename Loop::Tile& tile, const LastSizes& of, float slope,
                                       int activation) {
  constexpr int rows = Loop::rows, columns = Loop::columns, warps_k = Loop::warps_k;
  constexpr int apart = columns * 8 + 8, units = columns * 8 / kUnit;  // padded, so that rows start in different banks
  constexpr int warps = Loop::threads / 32 / warps_k, size = 16 * apart * 4 * warps * warps_k;
  constexpr int room = Loop::bytes * Loop::stage_count / size;
  constexpr int at_once = room >= rows ? rows : room >= rows / 2 && rows % 2 == 0 ? rows / 2 : 1;
  static_assert(room >= 1, "room for the accumulators");
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, positions = of.positions();
  const int first_m = tile.m + warp / Loop::warps_n % Loop::warps_m * rows * 16;
  const int first_n = tile.n + warp % Loop::warps_n * columns * 8, of_group = tile.number * of.filters;
  float* const part = reinterpret_cast<float*>(stages) + warp * at_once * 16 * apart;
  const float* const of_first = reinterpret_cast<float*>(stages) + warp % warps * at_once * 16 * apart;
  const auto meet = [] {
    if constexpr (warps_k == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  };
  const bool whole = aligned(factor, summand, residual, y) && of.filters % kUnit == 0;
#pragma unroll
  for (int first = 0; first < rows; first += at_once) {
    if (first > 0) meet();
#pragma unroll
    for (int i = 0; i < at_once; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j)
        for (int half = 0; half < 2; ++half) {
          float2 pair;
          pair.x = accumulators[first + i][j][half * 2];
          pair.y = accumulators[first + i][j][half * 2 + 1];
          *reinterpret_cast<float2*>(part + (i * 16 + half * 8 + lane / 4) * apart + j * 8 + lane % 4 * 2) = pair;
        }
    meet();
#pragma unroll 1
    for (int unit = warp / warps * 32 + lane; unit < at_once * 16 * units; unit += 32 * warps_k) {
      const int position = first_m + first * 16 + unit / units, filter = first_n + unit % units * kUnit;
      if (position >= positions || filter >= of.filters) continue;
      const float* const from = of_first + unit / units * apart + unit % units * kUnit;
      const long long at = static_cast<long long>(position) * of.groups * of.filters + of_group + filter;
      float values[kUnit];
#pragma unroll
      for (int e = 0; e < kUnit; ++e) {
        values[e] = from[e];
        for (int other = 1; other < warps_k; ++other) values[e] += from[other * warps * at_once * 16 * apart + e];
      }
      if (whole) {
        float factors[kUnit], summands[kUnit], others[kUnit] = {};
        load_unit(factor + of_group + filter, factors);
        load_unit(summand + of_group + filter, summands);
        if (residual != nullptr) load_unit(residual + at, others);
#pragma unroll
        for (int e = 0; e < kUnit; ++e) values[e] = values[e] * factors[e] + summands[e] + others[e];
        activate<T>(activation, values, slope);
        store_unit(y + at, values);
      } else {
#pragma unroll 1
        for (int e = 0; e < min(of.filters - filter, kUnit); ++e) {
          float value = from[e];
          for (int other = 1; other < warps_k; ++other) value += from[other * warps * at_once * 16 * apart + e];
          value = value * factor[of_group + filter + e] + summand[of_group + filter + e];
          if (residual != nullptr) value += static_cast<float>(residual[at + e]);
          y[at + e] = static_cast<T>(activated<T>(activation, value, slope));
        }
      }
    }
  }
}

// Blocks of a multiprocessor: 16 warps of 16 bits, with 128 registers a thread.
template <class T, int Warps>
constexpr int kBlocks = sizeof(T) == 2 ? (Warps < 16 ? 16 / Warps : 1) : 1;

// With offsets in x of 32 bits, x has less than 2^31 elements, and images are smaller than 2^15.
template <class T, class Offset, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN, int WarpsK>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK, kBlocks<T, WarpsM * WarpsN * WarpsK>)
    convolution_last(CONVOLUTION_LAST_OPERANDS(T)) {
  using Loop = ConvolutionMainloop<T, Offset, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  const LastSizes of = CONVOLUTION_LAST_SIZES;
  extern __shared__ __align__(128) unsigned char stages[];
  const typename Loop::Tile tile(of.positions(), filters);
  float accumulators[Loop::rows][Loop::columns][4] = {};
  const auto loop = [&] { return Loop(x, weight, of, tile, stages); };
  if constexpr (sizeof(T) == 2) {
    loop().run(Multiply<T, Loop::rows, Loop::columns>{accumulators});
  } else if (multiply<false>(loop(), accumulators)) {
    multiply<true>(loop(), accumulators);
  }
  finish<Loop>(accumulators, stages, factor, summand, residual, y, tile, of, slope, activation);
}

}  // namespace cuda_kernels
