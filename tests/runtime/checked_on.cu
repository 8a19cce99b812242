// What is no error, and several that are, for test_checked_on.py.
#define FULL 0xffffffffu

extern "C" __global__ void goes_on(const int* how, float* x) {
  __shared__ float partial[32], tile[64];
  int i = threadIdx.x, warp = i / 32, lane = i % 32;
  float sum = x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
  switch (*how) {
    case 0:  // as llm.c does it: every lane of a warp stores what all of them have
      partial[warp] = sum;
      __syncthreads();
      x[i] = partial[0] + partial[1];
      break;
    case 1:  // the same, and no barrier before another warp reads it
      partial[warp] = sum;
      x[i] = partial[0] + partial[1];
      break;
    case 2:  // the values differ, of one lane only
      partial[warp] = lane == 7 ? 2.f : 1.f;
      __syncthreads();
      x[i] = partial[warp];
      break;
    case 3:  // two warps store one value
      if (lane == 0) partial[0] = 1.f;
      __syncthreads();
      x[i] = partial[0];
      break;
    case 4:  // three mistakes: a race, a read of what nobody wrote, and an access outside
      tile[i] = sum;
      x[i] = tile[63 - i];
      __syncthreads();
      x[i] += partial[3];
      x[i + *how * 16] = 1.f;
      break;
    case 5:  // a note, before two barriers in the branches of a warp
      partial[warp] = sum;
      if (lane < 16) {
        __syncthreads();
        x[i] = partial[0];
      } else {
        __syncthreads();
        x[i] = partial[1];
      }
      break;
    case 6:  // what others may be writing is read, and nothing uses it
      tile[i] = sum;
      __syncthreads();
      if (lane == 0) tile[warp] = 2 * sum;
      {
        float seen = *(volatile float*)&tile[1 - warp];
        asm volatile("{ .reg .f32 r; fma.rn.f32 r, %0, %0, %0; }" ::"f"(seen));
      }
      break;
    case 7:  // the same, and it tells which way to go
      tile[i] = sum;
      __syncthreads();
      if (lane == 0) tile[warp] = 2 * sum;
      if (*(volatile float*)&tile[1 - warp] > 1e30f) x[i] = 7;
      break;
    case 8:  // as llm.c does it: all read, of the last element where there is no more of it
    case 9:  // the same, and a thread stores what it should not have read
      {
        float seen = *(volatile float*)&x[min(i, 39)];
        if (i < 40 || (*how == 9 && i == 50)) x[i] = seen + 1;
      }
      break;
    case 10:  // a half selects something else than what it reads while the other writes
    case 11:  // the same, but for a thread
      tile[i] = sum;
      __syncthreads();
      {
        float seen = *(volatile float*)&tile[(i + 32) % 64], kept;
        if (i < 32) tile[i] = 2 * sum;
        unsigned other = i >= 32 && !(*how == 11 && i == 40);
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; selp.f32 %0, %1, %2, p; }"
                     : "=f"(kept) : "f"(1.f), "f"(seen), "r"(other));
        x[i] = kept;
      }
      break;
  }
}

extern "C" __global__ void lanes(const int* how, int* x) {
  int i = threadIdx.x;
  switch (*how) {
    case 0:
      if (i >= 20) return;
      x[i] = __shfl_down_sync(FULL, i, 8);
      break;
    case 1:
      x[i] = __shfl_down_sync(FULL, i, 8);
      break;
    case 2:
      x[i] = __ballot_sync(FULL, i & 1);
      break;
    // What follows names lanes that there are, or takes nothing of others.
    case 3:
      x[i] = __shfl_down_sync((1u << blockDim.x) - 1, i, 8, 16);
      break;
    case 4:
      if (i >= 20) return;
      x[i] = __shfl_sync(__activemask(), i, 0);
      break;
    case 5:
      __syncwarp();
      x[i] = __match_any_sync((1u << blockDim.x) - 1, i % 3);
      break;
    case 6:
      x[i] = __reduce_add_sync((1u << blockDim.x) - 1, i);
      break;
  }
}
