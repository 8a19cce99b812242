// Which group of rows a block works in, where rows are sorted by group: #include "../include/groups.cuh".
//
// offsets[g] is where group g ends, and g + 1 begins. Rows behind the last group are one more group, which has no weights.
#pragma once

namespace cuda_kernels {

struct Group {
  int number, start, rows;  // its first row, and how many it has
  int tile;                 // which of its tiles the block computes
};

// Where a group begins: 0 <= start <= rows, whatever the offsets are.
__device__ __forceinline__ int start_of_group(const int* offsets, int groups, int rows, int number) {
  return number == 0 ? 0 : number > groups ? rows : min(max(offsets[number - 1], 0), rows);
}

// The group of tile `tile` of all groups' tiles of TileM rows; one without rows where there are fewer tiles. Each warp looks at
// 32 groups at once: a lane counts the tiles of its group, and the warp adds them up.
template <int TileM>
__device__ __forceinline__ Group group_of(const int* __restrict__ offsets, int groups, int rows, int tile) {
  constexpr unsigned every = 0xffffffffu;
  const int lane = threadIdx.x % 32;
  int before = 0;
#pragma unroll 1
  for (int first = 0; first <= groups; first += 32) {
    const int start = start_of_group(offsets, groups, rows, min(first + lane, groups + 1));
    const int count = max(start_of_group(offsets, groups, rows, min(first + lane, groups) + 1) - start, 0);
    const int tiles = (count + TileM - 1) / TileM;
    int sum = tiles;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(every, sum, distance);
      if (lane >= distance) sum += other;
    }
    const unsigned found = __ballot_sync(every, tile < before + sum);
    if (found != 0) {
      const int which = __ffs(found) - 1;
      return {first + which, __shfl_sync(every, start, which), __shfl_sync(every, count, which),
              tile - before - __shfl_sync(every, sum - tiles, which)};
    }
    before += __shfl_sync(every, sum, 31);
  }
  return {groups, rows, 0, 0};
}

}  // namespace cuda_kernels
