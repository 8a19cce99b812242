// Products with quantised weights for many rows of x, y = x W^T, on warpgroup MMA with A in registers: for sm_90a. The
// memory layouts of W are those of ../include/quantised_formats.cuh.
//
//   producer warpgroup, warp 0   TMA       ->  stages of x: 64 of k, swizzled
//   its other warps              cp.async  ->  stages of W: 256 of k as they are, and the numbers of groups
//   2 consumer warpgroups                      64 rows of W each: words -> floats, A in registers; x: B
//
// A consumer makes the floats of the next 64 of k while tensor cores multiply the last ones. With `Deep` 2 there are four
// consumers, two of which take every other 64 of k. Blocks are persistent. For few tiles, the `Split` blocks of a cluster take
// a part of k each, and reduce through distributed shared memory, in the order of the blocks. Without clusters, blocks share
// the last tiles equally (../include/stream_k.cuh): sums of a part of k go to scratch memory, and the block that finds all
// parts of a tile there adds them up, in the order of k.
//
// Memory traffic: W once for each 8 * Columns rows of x, and x once for each few rows of W that run at the same time. A part
// of a tile is written once and read once, 512 bytes for each row of x.

#include "../include/mbarrier.cuh"
#include "../include/quantised_many.cuh"
#include "../include/stream_k.cuh"
#include "../include/tensor_map.cuh"
#include "../include/wgmma_registers.cuh"

namespace cuda_kernels {

__device__ __forceinline__ void sync_warpgroup(int group) {
  asm volatile("bar.sync %0, 128;" ::"r"(group + 2) : "memory");
}

template <int Threads>
__device__ __forceinline__ void sync_consumers() {
  asm volatile("bar.sync 1, %0;" ::"n"(Threads) : "memory");
}

// The two warpgroups that finish a tile.
__device__ __forceinline__ void sync_finishers() { asm volatile("bar.sync 4, 256;" ::: "memory"); }

// Stores four 8 x 8 matrices of 16 bits, transposed.
__device__ __forceinline__ void store_transposed(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

template <class Format, int Columns, int Stages, int WeightStages, int Split, int Deep>
struct alignas(1024) ManyStorage {
  static constexpr StageRow kRow = Format::template row<kWideSteps>();
  static constexpr int kBoxColumns = Columns < 32 ? Columns : 32;
  static constexpr int kPitch = kTileRows + 4;  // of partial sums
  static constexpr int kWeights = kTileRows * kRow.pitch, kBox = kBoxColumns * 128;
  static constexpr int kBoxes = Split == 1 ? 2 * kBox : 0, kOthers = (Deep - 1) * Columns / 2 * 256 * sizeof(float);
  unsigned char x[Stages][Columns * 128];
  // Stages of weights; then what some kernels have nothing of, where an array of its own would be empty.
  unsigned char rest[WeightStages * kWeights + kBoxes + kOthers];
  alignas(128) TensorMap staging;
  const TensorMap* map;  // of x, or null
  int is_last;           // whether all parts of the tile are there
  Barrier full[Stages], empty[Stages], weights_full[WeightStages], weights_empty[WeightStages];
  static_assert(Split == 1 || Columns * kPitch * 4 <= Stages * Columns * 128 + WeightStages * kWeights, "room for sums");

  __device__ __forceinline__ unsigned char* weights(int stage) {
    return reinterpret_cast<unsigned char(*)[kWeights]>(rest)[stage];
  }
  // 64 rows of W of some rows of x, for the epilogue, for each of two warpgroups.
  __device__ __forceinline__ unsigned char* box(int group) { return rest + WeightStages * kWeights + group * kBox; }
  // The sums of the other half of the steps, [Columns / 2][256].
  __device__ __forceinline__ float* others() {
    return reinterpret_cast<float*>(rest + WeightStages * kWeights + kBoxes);
  }
};

// Copies 64 of k of rows of x by one warp, where TMA cannot.
template <class T, int Columns>
__device__ __forceinline__ void copy_x(const T* x, int k, int m, int column, int step, unsigned char* to) {
#pragma unroll 1
  for (int piece = threadIdx.x % 32; piece < Columns * 8; piece += 32) {
    const int c = piece / 8, chunk = piece % 8, at = step * kStepK + 8 * chunk;
    const bool there = column + c < m && at < k;
    *reinterpret_cast<uint4*>(to + swizzled(c, chunk)) =
        load_elements(there ? x + static_cast<size_t>(column + c) * k + at : x, there ? 8 : 0);
  }
}

// The tiles of a cluster, whose blocks share each tile's k.
template <int Split>
struct ClusterTiles {
  int tiles, index, first, stages;

  __device__ __forceinline__ ClusterTiles(int all, int of_k)
      : tiles(all), index(static_cast<int>(blockIdx.x) / Split) {
    const int each = (of_k + Split - 1) / Split;
    first = cluster_rank() * each;
    stages = max(1, min(each, of_k - first));  // past the end of k, of zeros
  }
  __device__ __forceinline__ bool there() const { return index < tiles; }
  __device__ __forceinline__ void next() { index += static_cast<int>(gridDim.x) / Split; }
  __device__ __forceinline__ int tile() const { return index; }
  __device__ __forceinline__ int begin() const { return first; }
  __device__ __forceinline__ int count() const { return stages; }
};

// By two warpgroups: writes a block's sums of a part of k, and if all parts are there, adds them up; else returns false.
template <int Columns>
__device__ __forceinline__ bool add_parts(const StreamK& turns, float* partial_results, float (&sums)[Columns / 2], int* is_last) {
  constexpr int kFours = Columns / 8;  // of a thread
  const int thread = threadIdx.x % 256 ^ 128, blocks = static_cast<int>(gridDim.x);
  const auto partial = [&](int block, int slot) {
    return reinterpret_cast<float4*>(partial_results) + (block * 2 + slot) * (kFours * 256) + thread;
  };
  const Arrivals<1> arrivals{partial_results + static_cast<size_t>(blocks) * 2 * kTileRows * Columns, blocks};
  const Piece& piece = turns.piece;
  const auto sync = [] { sync_finishers(); };
  const int own = blockIdx.x, first = turns.work.first_worker(piece), last = turns.work.last_worker(piece);
  const int first_slot = turns.work.first_slot(piece, first);
  int next = first + 1;
  // The first part is most often the last to be done: its block has that of its next tile behind it.
  if (own != first || !arrivals.others_are_there(0, next, last, is_last, thread, sync)) {
    float4* const to = partial(own, piece.slot());
#pragma unroll
    for (int s = 0; s < kFours; ++s)
      __stcg(to + s * 256, make_float4(sums[4 * s], sums[4 * s + 1], sums[4 * s + 2], sums[4 * s + 3]));
    if (!arrivals.is_last(0, own, piece.slot(), first, first_slot, last, is_last, thread, sync)) return false;
#pragma unroll
    for (float& sum : sums) sum = 0.0f;
    next = first;
  }
#pragma unroll 1
  for (int each = next; each <= last; ++each) {
    const float4* const from = partial(each, each == first ? first_slot : 0);
#pragma unroll
    for (int s = 0; s < kFours; ++s) {
      const float4 four = __ldcg(from + s * 256);
      sums[4 * s] += four.x, sums[4 * s + 1] += four.y, sums[4 * s + 2] += four.z, sums[4 * s + 3] += four.w;
    }
  }
  return true;
}

template <class Format, int Columns, int Stages, int WeightStages, int Split, int Deep>
__device__ __forceinline__ void many(const typename Format::Element* __restrict__ x, const typename Format::Weights& of,
                                     typename Format::Element* __restrict__ y, float* partial_results, int m) {
  using T = typename Format::Element;
  using Storage = ManyStorage<Format, Columns, Stages, WeightStages, Split, Deep>;
  extern __shared__ __align__(1024) unsigned char raw[];
  Storage& memory = *reinterpret_cast<Storage*>(raw);
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  if (threadIdx.x == 128) {
    for (int i = 0; i < Stages; ++i) initialise(&memory.full[i], 1), initialise(&memory.empty[i], 8);
    for (int i = 0; i < WeightStages; ++i)
      initialise(&memory.weights_full[i], 2 * WeightCopier<Format>::kThreads), initialise(&memory.weights_empty[i], 8 * Deep);
    publish_barriers();
  }
  __syncthreads();

  const ManyTiles tiles(of.n, m, kTileRows, Columns);
  const int all_stages = (of.k - 1) / (kStepK * kWideSteps) + 1;  // without k, one of zeros
  typename Choose<Split == 1, StreamK, ClusterTiles<Split>>::Type turns(tiles.count(), all_stages);
  const bool packs = of.n % 8 == 0 && aligned(y);
  PipelineState<Stages> state;
  PipelineState<WeightStages> weights_state;
  int row, column;
  const auto place = [&] {
    tiles.place(turns.tile(), row, column);
    row *= kTileRows, column *= Columns;
  };

  // Scales in f32 take consumers more registers, and producers fewer than zeros do.
  constexpr bool has_wide_numbers = Format::kHasNumbers && sizeof(*of.scales) == sizeof(float);
  constexpr int kProducerRegisters = Deep > 1 ? 64 : has_wide_numbers ? 56 : 72;
  if (warp < 4) {
    deallocate_registers<kProducerRegisters>();
    if (warp == 0) {
      const TensorMap* map = nullptr;
      if (aligned(x) && of.k > 0) map = make_tensor_map<T>(&memory.staging, {x, of.k, m, 1, min(m, Columns)});
      if (lane == 0) memory.map = map;
      if (map != nullptr && lane == 0) acquire_tensor_map(map);
      for (; turns.there(); turns.next()) {
        place();
#pragma unroll 1
        for (int i = turns.begin() * kWideSteps, end = i + turns.count() * kWideSteps; i < end; ++i, state.advance()) {
          Barrier* const full = &memory.full[state.stage];
          wait(&memory.empty[state.stage], state.phase ^ 1);
          if (map == nullptr) {
            copy_x<T, Columns>(x, of.k, m, column, i, memory.x[state.stage]);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma reads what threads wrote
            __syncwarp();
            if (lane == 0) arrive(full);
          } else if (lane == 0) {
            arrive_and_expect(full, min(m, Columns) * 128);
            tma_load(memory.x[state.stage], map, full, i * kStepK, column, 0);
          }
        }
      }
    } else {
      WeightCopier<Format> copier(of, threadIdx.x - 32);
      for (; turns.there(); turns.next()) {
        place();
        copier.start(row);
#pragma unroll 1
        for (int i = turns.begin(), end = i + turns.count(); i < end; ++i, weights_state.advance()) {
          unsigned char* const to = memory.weights(weights_state.stage);
          Barrier* const full = &memory.weights_full[weights_state.stage];
          wait(&memory.weights_empty[weights_state.stage], weights_state.phase ^ 1);
          copier.copy(i, to);
          arrive_after_copies(full);
          arrive(full);  // after its own stores, too
        }
      }
    }
    if constexpr (Split > 1) cluster_sync(), cluster_sync();  // as the consumers, who have registers for the reduction
  } else {
    allocate_registers<(Deep > 1 ? 104 : kProducerRegisters == 56 ? 224 : 216)>();
    const int group = (warp / 4 - 1) % 2, depth = (warp / 4 - 1) / 2;
    const int g = lane / 4, t = lane % 4, own_row = 64 * group + 16 * (warp % 4) + g;
    const auto release = [&](Barrier* barrier) {
      __syncwarp();  // all lanes have read the stage
      if (lane == 0) arrive(barrier);
    };
    if (Deep > 1 && depth == 1) state.advance();
    for (; turns.there(); turns.next()) {
      place();
      float sums[Columns / 2];
      unsigned even[4][4], odd[4][4];
      constexpr int of_stage = kWideSteps / Deep;  // the own steps: all, or of each two one
      Format format;
      format.start(of, row + own_row, turns.begin() * kWideSteps + (Format::kHasNumbers ? 0 : depth));
      if constexpr (!Format::kHasNumbers) format.request(), format.template skip<Deep - 1>();
      const unsigned char* from;  // the lane's first row of the stage
      const auto begin_stage = [&] {
        wait(&memory.weights_full[weights_state.stage], weights_state.phase);
        from = memory.weights(weights_state.stage) + own_row * Storage::kRow.pitch;
        if constexpr (Format::kHasNumbers) format.begin_stage();
      };
      const auto expand = [&](unsigned (&to)[4][4], int i) {
        const int step = i * Deep + depth;
        format.template fragments<kWideSteps>(from, step, 0, t, reinterpret_cast<unsigned(&)[2][4]>(to[0]));
        format.template fragments<kWideSteps>(from, step, 1, t, reinterpret_cast<unsigned(&)[2][4]>(to[2]));
        if constexpr (!Format::kHasNumbers) format.request(), format.template skip<Deep - 1>();
        if (i + 1 == of_stage) {
          release(&memory.weights_empty[weights_state.stage]);
          weights_state.advance();
        }
      };
      int last = -1;  // the stage of x of the products before the latest
      const auto multiply = [&](const unsigned (&with)[4][4], bool adds) {
        wait(&memory.full[state.stage], state.phase);
        const unsigned long long b = descriptor_k_major(memory.x[state.stage]);
        warpgroup_arrive();
#pragma unroll
        for (int j = 0; j < 4; ++j) wgmma_from_registers<T, Columns, 0>(sums, with[j], b + 2 * j, adds || j > 0);
        warpgroup_commit();
        warpgroup_wait<1>();
        if (last >= 0) release(&memory.empty[last]);
        last = state.stage;
        state.advance(Deep);
      };
      const int stages = turns.count();
      begin_stage();
      expand(even, 0);
#pragma unroll 1
      for (int stage = 0; stage < stages; ++stage) {
#pragma unroll
        for (int i = 0; i < of_stage; i += 2) {
          multiply(even, stage > 0 || i > 0);
          expand(odd, i + 1);
          multiply(odd, true);
          if (i + 2 < of_stage) {
            expand(even, i + 2);
          } else if (stage + 1 < stages) {
            begin_stage();
            expand(even, 0);
          }
        }
      }
      warpgroup_wait<0>();
      release(&memory.empty[last]);
      fence_registers(sums);
      if constexpr (Deep > 1) {
        const int thread = threadIdx.x % 256 ^ 128;  // of two warpgroups, in any order
        sync_consumers<256 * Deep>();                // the last tile's have been read
#pragma unroll
        for (int s = 0; s < Columns / 2; ++s)
          if (depth == 1) memory.others()[s * 256 + thread] = sums[s];
        sync_consumers<256 * Deep>();
#pragma unroll
        for (int s = 0; s < Columns / 2; ++s)
          if (depth == 0) sums[s] += memory.others()[s * 256 + thread];
      }
      if constexpr (Split == 1) {
        if (depth > 0) continue;
        if (!turns.is_whole() && !add_parts<Columns>(turns, partial_results, sums, &memory.is_last)) continue;
      }
      if constexpr (Format::kScalesRows) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float scale = Format::row_scale(of, min(row + own_row + 8 * h, of.n - 1));
#pragma unroll
          for (int s = 0; s < Columns / 8; ++s) sums[4 * s + 2 * h] *= scale, sums[4 * s + 2 * h + 1] *= scale;
        }
      }
      if constexpr (Split == 1) {
        if (depth > 0) continue;
        constexpr int box_columns = Storage::kBoxColumns;
        unsigned char* const boxes = memory.box(group);
        const int thread = threadIdx.x % 128, chunk = thread % 8;
#pragma unroll
        for (int from = 0; from < Columns; from += box_columns) {
          if (column + from >= m) break;
          sync_warpgroup(group);  // the last box has been read
#pragma unroll
          for (int s = 0; s < box_columns / 8; s += 2) {
            const float* const v = &sums[(from / 8 + s) * 4];
            const int at = 8 * s + lane / 16 * 8 + lane % 8;
            store_transposed(shared_address(boxes) + swizzled(at, 2 * (warp % 4) + lane / 8 % 2), packed_pair<T>(v[0], v[1]),
                             packed_pair<T>(v[2], v[3]), packed_pair<T>(v[4], v[5]), packed_pair<T>(v[6], v[7]));
          }
          sync_warpgroup(group);
          const int at_row = row + 64 * group + 8 * chunk;
#pragma unroll
          for (int c = thread / 8; c < box_columns; c += 16)
            if (column + from + c < m && at_row < of.n)
              store_eight(y + static_cast<size_t>(column + from + c) * of.n,
                          *reinterpret_cast<const uint4*>(boxes + swizzled(c, chunk)), at_row, of.n, packs);
        }
      } else {
        float* const partial = reinterpret_cast<float*>(raw);
        if constexpr (Deep == 1) sync_consumers<256>();  // the stages have been read
#pragma unroll
        for (int s = 0; s < Columns / 8; ++s)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (depth == 0) partial[(8 * s + 2 * t + e % 2) * Storage::kPitch + own_row + e / 2 * 8] = sums[4 * s + e];
        cluster_sync();
        for (int s = cluster_rank() * 256 * Deep + threadIdx.x - 128; s < Columns * kTileRows / 8; s += 256 * Deep * Split) {
          const int c = s / (kTileRows / 8), r = s % (kTileRows / 8) * 8;
          if (column + c >= m || row + r >= of.n) continue;
          float values[8] = {};
#pragma unroll
          for (int b = 0; b < Split; ++b) {
            const float* const from = partial + c * Storage::kPitch + r;
            float others[8];
            load_of_block(from, b, others);
            load_of_block(from + 4, b, others + 4);
#pragma unroll
            for (int e = 0; e < 8; ++e) values[e] += others[e];
          }
          store_eight(y + static_cast<size_t>(column + c) * of.n, packed<T>(values), row + r, of.n, packs);
        }
        cluster_sync();  // no block exits while others read its sums
      }
    }
  }
  __syncthreads();  // no block returns a map that is in use
  if (threadIdx.x == 0 && memory.map != nullptr) give_back(memory.map);
}

// Of layouts without scales of their own, with scales, and with zeros. `parts` is 0 where there is none.
template <class Format, int Columns, int Stages, int WeightStages, int Split, int Deep>
__global__ void CUDA_KERNELS_CLUSTER(Split) __launch_bounds__(128 + 256 * Deep, 1)
    quantised_many_blocks(const typename Format::Element* x, const unsigned char* weight, typename Format::Element* y,
                          float* partial_results, int batch, int n, int k, int parts) {
  many<Format, Columns, Stages, WeightStages, Split, Deep>(x, {weight, nullptr, nullptr, n, k, parts}, y, partial_results, batch);
}

template <class Format, class Byte, class Scale, int Columns, int Stages, int WeightStages, int Split, int Deep>
__global__ void CUDA_KERNELS_CLUSTER(Split) __launch_bounds__(128 + 256 * Deep, 1)
    quantised_many(const typename Format::Element* x, const Byte* weight, const Scale* scales,
                   typename Format::Element* y, float* partial_results, int batch, int n, int k, int parts) {
  many<Format, Columns, Stages, WeightStages, Split, Deep>(
      x, {reinterpret_cast<const unsigned char*>(weight), scales, nullptr, n, k, parts}, y, partial_results, batch);
}

template <class Format, int Columns, int Stages, int WeightStages, int Split, int Deep>
__global__ void CUDA_KERNELS_CLUSTER(Split) __launch_bounds__(128 + 256 * Deep, 1)
    quantised_many_zeros(const typename Format::Element* x, const unsigned char* weight,
                         const typename Format::Element* scales, const typename Format::Element* zeros,
                         typename Format::Element* y, float* partial_results, int batch, int n, int k, int parts) {
  many<Format, Columns, Stages, WeightStages, Split, Deep>(x, {weight, scales, zeros, n, k, parts}, y, partial_results, batch);
}

}  // namespace cuda_kernels
