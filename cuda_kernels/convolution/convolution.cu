// y = act(norm(convolution(x, weight) + bias) + residual) for f16, bf16 and f32, in f32, on the tensor cores of sm_80 and
// later. x and y are [images, channels, height, width], the weights [filters, channels / groups, rows, columns], as
// PyTorch has them; a convolution along one axis has a height of 1. Any strides, paddings, dilations, groups and sizes.
//
// Implicit GEMM: the weights of a group are A [filters, k], and B [k, positions] has at (channel, row, column) and an
// output's position the element of x that these two multiply. It is never in memory: each step gathers its part from x,
// which the caches hold, since neighbouring taps read almost the same. A tile of the result is TileM filters by TileN
// positions, which go on from image to image. So all images fill the tiles, however small they are.
//
//   cp.async    weights -> one of two stages in shared memory (../include/tile.cuh), a step ahead;
//   ld.global   x -> registers, a step ahead, 4 bytes of adjacent positions a thread, -> the stage;
//   ldmatrix    shared memory -> registers, as for products; mma.sync -> accumulators.
//
// All threads of a warp gather the same row of B. So what the row's channel and tap are is computed once for 32 numbers,
// and a tap's place comes from a table in shared memory.
//
// A 1 x 1 convolution without padding and with a stride of 1 is a product: if the images of x are whole 8 or 16 bytes,
// their parts are copied with cp.async, as the weights are.
//
// Memory traffic: x is read by filters / TileM blocks for each tap, all but the first from the caches; the weights by
// positions / TileN; y is written once.

#include "../include/convolution.cuh"
#include "../include/multiply.cuh"
#include "../include/tile.cuh"

namespace cuda_kernels {

constexpr int kTaps = 512;  // places in the table; of others they are computed anew

// Where a tap is: its offset in an image, and its row and column.
struct Tap {
  int offset, row, column;

  __device__ __forceinline__ Tap(const ConvolutionSizes& of, int number) {
    row = number / of.columns;
    column = (number - row * of.columns) * of.dilation_w;
    row *= of.dilation_h;
    offset = row * of.width + column;
  }
  __device__ __forceinline__ Tap(int2 kept) : offset(kept.x), row(kept.y >> 16), column(kept.y & 0xffff) {}
  __device__ __forceinline__ int2 kept() const { return make_int2(offset, row << 16 | column); }
};

// Whether all taps have a place in the table.
__device__ __forceinline__ bool are_kept(const ConvolutionSizes& of) {
  return of.rows * of.columns <= kTaps && static_cast<long long>(of.rows) * of.dilation_h < 0x8000 &&
         static_cast<long long>(of.columns) * of.dilation_w < 0x10000;
}

// A thread's share of the gathering of B: 4 bytes of adjacent positions, in rows that are `at_once` apart.
template <class T, int TileK, int TileN, int Threads>
struct Gathering {
  static constexpr int adjacent = 4 / sizeof(T), across = TileN / adjacent, at_once = Threads / across;
  static constexpr int count = TileK / at_once;
  static_assert(across % 32 == 0 && Threads % across == 0 && TileK % at_once == 0, "a warp gathers one row");

  const ConvolutionSizes& of;
  const int2* const taps;
  const int depth, image;  // of k; elements of one channel's image
  const bool kept;
  const T* from[adjacent];            // the first tap of each position, maybe outside of x
  int top[adjacent], left[adjacent];  // and where it is in its image
  int k, tap, channel;                // of the next row that this thread gathers; the channel as an offset
  int row, place;                     // the place of that

  __device__ __forceinline__ Gathering(const T* x, const ConvolutionSizes& sizes, const int2* taps, int group,
                                       int first, int positions)
      : of(sizes),
        taps(taps),
        depth(sizes.channels * sizes.rows * sizes.columns),
        image(sizes.height * sizes.width),
        kept(are_kept(sizes)) {
    row = threadIdx.x / across;
    place = threadIdx.x % across * adjacent;
    const int of_image = of.out_height * of.out_width;
#pragma unroll
    for (int e = 0; e < adjacent; ++e) {
      const int position = first + place + e, number = position / of_image, in = position - number * of_image;
      const int out_row = in / of.out_width, out_column = in - out_row * of.out_width;
      top[e] = position < positions ? out_row * of.stride_h - of.padding_h : -0x40000000;
      left[e] = out_column * of.stride_w - of.padding_w;
      from[e] = x + (static_cast<long long>(number) * of.groups + group) * of.channels * image +
                (static_cast<long long>(out_row) * of.stride_h - of.padding_h) * of.width + left[e];
    }
    k = row;
    tap = row % (of.rows * of.columns);
    channel = row / (of.rows * of.columns) * image;
  }

  // The next step's numbers.
  __device__ __forceinline__ void load(unsigned (&bits)[count]) {
    const int of_channel = of.rows * of.columns;
    const int more_taps = at_once % of_channel, more = at_once / of_channel * image;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const Tap at = kept ? Tap(taps[tap]) : Tap(of, tap);
      T numbers[adjacent];
#pragma unroll
      for (int e = 0; e < adjacent; ++e) {
        const bool is_there = k < depth && static_cast<unsigned>(top[e] + at.row) < static_cast<unsigned>(of.height) &&
                              static_cast<unsigned>(left[e] + at.column) < static_cast<unsigned>(of.width);
        numbers[e] = T(0.0f);
        if (is_there) numbers[e] = from[e][channel + at.offset];
      }
      memcpy(&bits[i], numbers, 4);
      k += at_once;
      tap += more_taps;
      channel += more;
      if (tap >= of_channel) {
        tap -= of_channel;
        channel += image;
      }
    }
  }

  // Puts them into a stage.
  __device__ __forceinline__ void store(unsigned char* tile, const unsigned (&bits)[count]) const {
#pragma unroll
    for (int i = 0; i < count; ++i)
      *reinterpret_cast<unsigned*>(tile + swizzled<TileN, T>(row + i * at_once, place / kPack<T>) +
                                   place % kPack<T> * sizeof(T)) = bits[i];
  }
};

// A thread's share of the copies of B, where this is x itself: 8 or 16 bytes of adjacent positions of one image.
template <class T, int TileK, int TileN, int Threads>
struct CopiesOfImages {
  const T* from;  // of the first channel
  int depth, image;
  int bytes;  // of a copy; 0 where x is gathered
  int row, place, at_once;
  int k = 0;
  bool is_there;

  __device__ __forceinline__ CopiesOfImages(const T* x, const ConvolutionSizes& of, int group, int first, int positions)
      : depth(of.channels), image(of.height * of.width) {
    const bool is_product = of.rows == 1 && of.columns == 1 && of.stride_h == 1 && of.stride_w == 1 &&
                            of.padding_h == 0 && of.padding_w == 0 && aligned(x);
    constexpr int whole = kPack<T>;
    bytes = !is_product || image % (whole / 2) != 0 ? 0 : image % whole == 0 ? 16 : 8;
    const int adjacent = bytes == 8 ? whole / 2 : whole, across = TileN / adjacent;
    at_once = Threads / across;
    row = threadIdx.x / across;
    place = threadIdx.x % across * adjacent;
    const int position = first + place, number = position / image;
    is_there = position < positions;
    from = x + (static_cast<long long>(number) * of.groups + group) * depth * image + (position - number * image);
  }

  // Issues the next step's copies.
  __device__ __forceinline__ void begin(unsigned tile) {
#pragma unroll 2
    for (int i = row; i < TileK; i += at_once) {
      const unsigned to = tile + swizzled<TileN, T>(i, place / kPack<T>) + place % kPack<T> * sizeof(T);
      const T* const source = from + static_cast<long long>(k + i) * image;
      const int size = is_there && k + i < depth ? bytes : 0;
      if (bytes == 16) {
        cp_async<16>(to, source, size);
      } else {
        cp_async<8>(to, source, size);
      }
    }
    k += TileK;
  }
};

// The mainloop: products of the tiles of both stages in turn, while the next ones are on their way.
template <class T, int TileM, int TileN, int TileK, int WarpsM, int WarpsN>
struct Mainloop : MainloopSm80<T, false, TileM, TileN, TileK, 2, WarpsM, WarpsN, 1> {
  using Base = MainloopSm80<T, false, TileM, TileN, TileK, 2, WarpsM, WarpsN, 1>;
  using Gathered = Gathering<T, TileK, TileN, Base::threads>;
  using typename Base::Tile;

  Gathered gathering;
  CopiesOfImages<T, TileK, TileN, Base::threads> copies;
  const bool whole;  // the weights are copied in 16 bytes

  __device__ __forceinline__ Mainloop(const T* x, const T* weight, const ConvolutionSizes& of, const int2* taps,
                                      int group, int first_filter, int first, int positions, unsigned char* stages)
      : Base(weight + static_cast<long long>(group) * of.filters * of.channels * of.rows * of.columns, weight,
             at(first_filter), of.filters, 0, of.channels * of.rows * of.columns, stages),
        gathering(x, of, taps, group, first, positions),
        copies(x, of, group, first, positions),
        whole(aligned(weight) && this->k % kPack<T> == 0) {}

  static __device__ __forceinline__ Tile at(int first_filter) {
    Tile tile(1, 1);
    tile.number = 0;
    tile.m = first_filter;
    tile.n = 0;
    return tile;
  }

  // Issues the copies for the next step.
  __device__ __forceinline__ void begin_copies() {
    this->of_a.begin_copies(shared_address(this->stages) + this->written, whole);
    if (!whole) this->of_a.copy_elements(this->stages + this->written);
    if (copies.bytes != 0) copies.begin(shared_address(this->stages) + this->written + Base::a_bytes);
    cp_async_commit();
    this->of_a.from += TileK;
    this->of_a.columns -= TileK;
  }

  template <class Products>
  __device__ __forceinline__ void run(const Products& multiply) {
    unsigned bits[Gathered::count];
    const bool gathers = copies.bytes == 0;
    begin_copies();
    if (gathers) {
      gathering.load(bits);
      gathering.store(this->stages + this->written + Base::a_bytes, bits);
    }
    cp_async_wait<0>();
    __syncthreads();
#pragma unroll 1
    for (int done = 0; done < this->k; done += TileK) {
      const bool is_last = done + TileK >= this->k;
      Base::advance(this->written);
      if (!is_last) begin_copies();
      if (!is_last && gathers) gathering.load(bits);
      this->load_fragments(0);
#pragma unroll
      for (int slice = 0; slice < Base::slices; ++slice) {
        if (slice + 1 < Base::slices) this->load_fragments(slice + 1);
        multiply(this->a_fragments[slice % 2], this->b_fragments[slice % 2]);
      }
      if (!is_last && gathers) gathering.store(this->stages + this->written + Base::a_bytes, bits);
      cp_async_wait<0>();
      __syncthreads();
      Base::advance(this->read);
    }
  }
};

// Writes a warp's sums, through its part of shared memory, 16 filters at a time. Each thread has the same positions of
// all filters: `Adjacent` of one image, and what it writes beside what its neighbours write.
template <int Adjacent, class T, class Loop>
__device__ __forceinline__ void finish(const float (&accumulators)[Loop::rows][Loop::columns][4], float* part,
                                       const float2* norms, const ConvolutionEpilogue<T>& end, const T* residual, T* y,
                                       const ConvolutionSizes& of, int group, int first_filter, int first,
                                       int positions) {
  constexpr int across = Loop::columns * 8, apart = across + 8, units = across / Adjacent;
  constexpr int at_once = 32 / units > 0 ? 32 / units : 1;
  static_assert(units <= 32 && 32 % units == 0, "a thread has one place in a row");
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, of_image = of.out_height * of.out_width;
  const int of_m = warp / Loop::warps_n * Loop::rows * 16, of_n = warp % Loop::warps_n * across;
  const int position = first + of_n + lane % units * Adjacent, number = position / of_image;
  const long long start = (static_cast<long long>(number) * of.groups + group) * of.filters * of_image +
                          (position - number * of_image);
#pragma unroll
  for (int i = 0; i < Loop::rows; ++i) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < Loop::columns; ++j)
      for (int half = 0; half < 2; ++half) {
        float2 pair;
        pair.x = accumulators[i][j][half * 2];
        pair.y = accumulators[i][j][half * 2 + 1];
        *reinterpret_cast<float2*>(part + (half * 8 + lane / 4) * apart + j * 8 + lane % 4 * 2) = pair;
      }
    __syncwarp();
    if (position >= positions) continue;
#pragma unroll 4
    for (int row = lane / units; row < 16; row += at_once) {
      const int of_tile = of_m + i * 16 + row, filter = first_filter + of_tile;
      if (filter >= of.filters) break;
      const long long at = start + static_cast<long long>(filter) * of_image;
      const float2 norm = norms[of_tile];
      float values[Adjacent], others[Adjacent];
#pragma unroll
      for (int e = 0; e < Adjacent; ++e)
        values[e] = part[row * apart + lane % units * Adjacent + e] * norm.x + norm.y;
      if (residual != nullptr) {
        load_some<Adjacent>(residual + at, others);
        for (int e = 0; e < Adjacent; ++e) values[e] += others[e];
      }
#pragma unroll
      for (int e = 0; e < Adjacent; ++e) values[e] = activated<T>(end.activation, values[e], end.slope);
      store_some<Adjacent>(y + at, values);
    }
  }
}

template <class T, int TileM, int TileN, int TileK, int WarpsM, int WarpsN>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN, 2) convolution(CONVOLUTION_OPERANDS(T)) {
  using Loop = Mainloop<T, TileM, TileN, TileK, WarpsM, WarpsN>;
  const ConvolutionSizes of = CONVOLUTION_SIZES;
  const ConvolutionEpilogue<T> end = CONVOLUTION_EPILOGUE;
  extern __shared__ __align__(128) unsigned char stages[];
  __shared__ int2 taps[kTaps];
  __shared__ float2 norms[TileM];
  const int positions = images * out_height * out_width;
  const SwizzledTile<TileM, TileN> tile(filters, positions);
  const int group = tile.number;
  if (are_kept(of))
    for (int i = threadIdx.x; i < rows * columns; i += Loop::threads) taps[i] = Tap(of, i).kept();
  for (int i = threadIdx.x; i < TileM && tile.m + i < filters; i += Loop::threads) {
    float2 norm;
    end.of_filter(group * filters + tile.m + i, norm.x, norm.y);
    norms[i] = norm;
  }
  __syncthreads();

  float accumulators[Loop::rows][Loop::columns][4] = {};
  const auto loop = [&] { return Loop(x, weight, of, taps, group, tile.m, tile.n, positions, stages); };
  if constexpr (sizeof(T) == 2) {
    loop().run(Multiply<T, Loop::rows, Loop::columns>{accumulators});
  } else if (multiply<false>(loop(), accumulators)) {
    multiply<true>(loop(), accumulators);
  }

  constexpr int of_part = 16 * (Loop::columns * 8 + 8);
  static_assert(of_part * 4 * WarpsM * WarpsN <= 2 * Loop::bytes, "room for the sums");
  float* const part = reinterpret_cast<float*>(stages) + threadIdx.x / 32 * of_part;
  if (aligned(residual, y) && out_height * out_width % kPack<T> == 0) {
    finish<kPack<T>, T, Loop>(accumulators, part, norms, end, residual, y, of, group, tile.m, tile.n, positions);
  } else {
    finish<1, T, Loop>(accumulators, part, norms, end, residual, y, of, group, tile.m, tile.n, positions);
  }
}

}  // namespace cuda_kernels
