// The checks of threads that wait: that those of a warp wait together, and none in vain.
//
// What a thread is doing, where it goes on and what it waits for is as block_memory.py has it.
#pragma once
#include "findings.cuh"

enum Status : u32 { RUNNING, DONE, AT_BARRIER, IN_WARP };

// By thread. In lockstep, where all wait at one barrier or have ended, `places` alone.
struct Waiting {
  const int* places;  // where it goes on, from 1 on where it waits
  const u32* statuses;
  const u32* subjects;  // a barrier's number, or the lanes of a mask
};

INNER u32 site_of_wait(const Context* c, int place) {
  return ((const u32*)(c->kernel + 1))[place - 1];
}

INNER void find_waiting(Context* c, u32 kind, const Waiting& all, u32 thread, u32 other) {
  u32 there = site_of_wait(c, all.places[other]) << SITE_SHIFT | other;
  find(c, {kind, thread, site_of_wait(c, all.places[thread]), there});
}

// Whether threads of a warp have come to different barriers, which ends the block. `free`: the bits
// of the barriers that are complete.
CHECK u32 check_diverged(Context* c, const int* places, const u32* statuses, const u32* subjects,
                         u32 free) {
  u32 leader = 0;
  bool leads = false;  // whether the warp has a leader: its first thread that waits so
  ROLLED for (u32 i = 0; i < c->kernel->threads; i++) {
    if (i % 32 == 0) leads = false;
    bool waits = places[i] > 0;
    if (statuses) waits = statuses[i] == AT_BARRIER && free >> subjects[i] % 32 & 1;
    if (!waits || !(c->sites[site_of_wait(c, places[i])].kind & ALIGNED)) continue;
    if (leads && places[i] != places[leader]) {
      find_waiting(c, DIVERGED, {places, statuses, subjects}, leader, i);
      return 1;
    }
    if (!leads) leader = i;
    leads = true;
  }
  return 0;
}

// Lanes meet in a shuffle or vote; those whose bits are set in `absent` are not there.
CHECK void check_absent(Context* c, u32 leader, u32 place, u32 absent) {
  u32 site = site_of_wait(c, place);
  if (!absent || !(c->sites[site].kind & EXCHANGE)) return;
  u64 lane = __ffs(absent) - 1;
  stage(c, {ABSENT, leader, site, 0, lane}, 0);
}

// Threads wait in vain: the first, and one that waits elsewhere.
CHECK void check_deadlock(Context* c, const int* places, const u32* statuses, const u32* subjects) {
  u32 threads = c->kernel->threads, here = 0;
  ROLLED while (here + 1 < threads && statuses[here] == DONE) here++;
  ROLLED for (u32 i = here; i < threads; i++) {
    bool same = places[i] == places[here] && subjects[i] == subjects[here];
    if (statuses[i] == DONE || (same && statuses[i] == statuses[here])) continue;
    find_waiting(c, DEADLOCK, {places, statuses, subjects}, here, i);
    return;
  }
  find(c, {WAITS_IN_VAIN, here, site_of_wait(c, places[here])});
}
