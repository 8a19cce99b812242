// Which accesses of a block's threads come before which (PTX ISA 9.0, chapter 8, "Memory
// Consistency Model").
//
// The threads run in turns, so every access has a time: the clock's when it was made. A thread keeps
// up to when the accesses of others come before what it does next on any GPU: those before the last
// barrier of the whole block; by warp, those before a barrier that the warp took part in; by lane,
// those before an operation of its own warp; and those that were followed by a fence, before a fence
// of its own. Stamps pass on what is known: who meets a thread knows what that thread knew.
//
// It errs towards order, so that what is found is a race indeed. `shfl`, `vote` and the like order
// the lanes they name, which PTX promises for `bar.warp.sync` only; a barrier that names a count
// orders whole warps; two fences order their threads even if no flag between them was read.
#pragma once
#include "monitor.cuh"

// Whether an access that another thread made at a time comes before what this one does now.
INNER bool is_ordered(const Context* c, u32 thread, u32 other, u32 when) {
  if (thread == other || when <= c->barrier) return true;
  if (!c->records) return false;
  const Record &mine = c->records[thread], &theirs = c->records[other];
  u32 known = mine.warps[other / 32];
  if (other / 32 == thread / 32) known = max(known, mine.lanes[other % 32]);
  return when <= max(known, min(mine.sees_fences, theirs.fenced));
}

// Lanes of the warp that begins with a thread have met: each now knows what all knew.
CHECK void check_lanes_met(Context* c, u32 first, u32 lanes, u32 group) {
  u32 now = tick(c);
  Record* warp = c->records + first;
  ROLLED for (u32 i = 0; i < WARPS; i++) {
    u32 by_warp = 0, by_lane = group >> i & 1 ? now : 0;
    ROLLED for (u32 lane = 0; lane < lanes; lane++) {
      if (!(group >> lane & 1)) continue;
      by_warp = max(by_warp, warp[lane].warps[i]);
      by_lane = max(by_lane, warp[lane].lanes[i]);
    }
    ROLLED for (u32 lane = 0; lane < lanes; lane++) {
      if (!(group >> lane & 1)) continue;
      warp[lane].warps[i] = by_warp;
      warp[lane].lanes[i] = by_lane;
    }
  }
  u32 fences = 0;
  ROLLED for (u32 lane = 0; lane < lanes; lane++)
    if (group >> lane & 1) fences = max(fences, warp[lane].sees_fences);
  ROLLED for (u32 lane = 0; lane < lanes; lane++)
    if (group >> lane & 1) warp[lane].sees_fences = fences;
}

// A thread has come to a barrier, to wait there or not: it brings what it knows.
CHECK void check_come(Context* c, u32 thread, u32 barrier) {
  u32* meeting = c->meetings[barrier];
  const Record& mine = c->records[thread];
  u32 now = tick(c);
  ROLLED for (u32 i = 0; i < WARPS; i++) meeting[i] = max(meeting[i], mine.warps[i]);
  meeting[thread / 32] = now;
}

// A thread goes on from a barrier: it takes what the others brought.
CHECK void check_leave(Context* c, u32 thread, u32 barrier) {
  const u32* meeting = c->meetings[barrier];
  Record& mine = c->records[thread];
  ROLLED for (u32 i = 0; i < WARPS; i++) mine.warps[i] = max(mine.warps[i], meeting[i]);
}

// All have left the barriers whose bits are set: what was brought there is forgotten.
CHECK void check_clear(Context* c, u32 free) {
  ROLLED for (u32 barrier = 0; barrier < BARRIERS; barrier++) {
    if (!(free >> barrier & 1)) continue;
    ROLLED for (u32 i = 0; i < WARPS; i++) c->meetings[barrier][i] = 0;
  }
}

// All threads of the block that there still are have met.
CHECK void check_all_met(Context* c) { c->barrier = tick(c); }

// A thread executes a fence: it publishes what it did, and sees what others published.
CHECK void check_fence(Context* c, u32 thread) {
  Record& mine = c->records[thread];
  mine.fenced = mine.sees_fences = tick(c);
}
