// Holding an access to the bounds of what it may touch.
#pragma once
#include "shadow.cuh"

// Below it Linux maps nothing (vm.mmap_min_addr): an address there was computed from a null pointer.
const u64 LOWEST_ADDRESS = 65536;
// A thread that makes so many atomic or volatile accesses without a wait is taken for one that waits
// in a loop; they take about a second.
const u32 MOST_SPINS = 1 << 25;

// The memory that an access may go to.
struct Memory {
  u32 space;      // ANYWHERE if there is none
  u64 place;      // the address, from the start of that space or region
  u64 low, high;  // where what may be accessed begins and ends
  const char* object;
  Region* region;
};

INNER Memory in_region(const Context* c, Region* region, u64 address) {
  const char* name = c->texts + region->name;
  return {IN_REGION, address - region->base, 0, region->length, name, region};
}

// From what a site tells of an address, or else from the address itself.
INNER Memory memory_of(const Context* c, const Site& site, u64 address, u64 state) {
  u64 in_shared = address - (u64)c->memory, in_local = address - state;
  const char* object = c->texts + site.object;
  if (site.space == IN_SHARED) return {IN_SHARED, in_shared, site.low, site.high, object};
  if (site.space == IN_LOCAL) return {IN_LOCAL, in_local, site.low, site.high, object};
  if (site.space == IN_REGION) return in_region(c, c->regions + site.low, address);
  u64 shared_bytes = c->kernel->shared_bytes, local_bytes = c->kernel->local_bytes;
  if (in_shared < shared_bytes) return {IN_SHARED, in_shared, 0, shared_bytes, "shared memory"};
  if (in_local < local_bytes)
    return {IN_LOCAL, in_local, 0, local_bytes, "the thread's local memory"};
  ROLLED for (u32 i = 0; i < c->kernel->regions; i++) {
    Region* region = c->regions + i;
    if (address - region->base < region->length) return in_region(c, region, address);
  }
  return {ANYWHERE};
}

const u32 FINE = ~0u;

// What is wrong with an access: a finding, or FINE.
INNER u32 wrong_with(const Access& access, const Memory& memory, const Target& target) {
  if (memory.space == ANYWHERE) return FOREIGN;
  bool begins_inside = target.offset < target.length;
  if (!begins_inside || access.size > target.length - target.offset) return OUT_OF_BOUNDS;
  if (memory.place & (access.size - 1)) return MISALIGNED;
  bool is_constant = memory.region && !memory.region->writable;
  return is_constant && access.kind & WRITES ? READ_ONLY : FINE;
}

// The cells to note an access in, or null where it is not noted.
INNER Cell* cells_of(Context* c, const Memory& memory) {
  if (memory.space == IN_SHARED) return c->shared_cells + memory.place;
  bool is_written = memory.region && memory.region->writable;
  return is_written ? cell_of(c, memory.region, memory.place) : nullptr;
}

// Hold an access of some bytes to the bounds of what its address was computed from, and note it in
// the shadow; whether it ends the block.
CHECK u32 check_access(Context* c, u32 thread, u32 number, u64 address, u32 size, u64 state) {
  keep_staged(c);  // that of the access before, which has been made
  if (size == 0) return 0;
  const Site& site = c->sites[number];
  Access access = {thread, number, site.kind, size};
  Target target = {address, nullptr, 0};
  Memory memory = {ANYWHERE};
  u32 wrong = FOREIGN;
  if (address >= LOWEST_ADDRESS) {
    bool spins = site.kind & STRONG && ++c->spins > MOST_SPINS;
    if (!spins) memory = memory_of(c, site, address, state);
    if (memory.space != ANYWHERE)
      target = {memory.place - memory.low, memory.object, memory.high - memory.low};
    wrong = spins ? SPIN : wrong_with(access, memory, target);
  }
  if (wrong != FINE) {
    find(c, found_of(wrong, access, target, 0));
    return 1;
  }
  Cell* cells = cells_of(c, memory);
  if (!cells) return 0;
  // What is read of shared memory must have been written before.
  note(c, access, target, cells, memory.space == IN_SHARED);
  if (!c->pending) return 0;
  c->address = (const byte*)address;
  ROLLED for (u32 i = 0; i < c->saved; i++) c->saved_bytes[i] = c->address[i];
  return 0;
}

// A thread begins to run, or goes on.
CHECK void check_turn(Context* c) { c->spins = 0; }
