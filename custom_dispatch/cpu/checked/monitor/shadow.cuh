// Who accessed which byte last: finding races, and reads of what nobody has written.
//
// Each byte has a cell with its last write and two of the reads since then, by lanes of different
// warps where there were such. An access is held against them: if one is not ordered before it
// (order.cuh), one of the two writes and not both are strong, they race, whichever came first here.
// A third thread that reads what two have read pushes one of them out of the cell, and a later
// write's race with that one alone stays unfound.
#pragma once
#include "findings.cuh"
#include "order.cuh"

const u32 CHUNK_CELLS = 256;

// A piece of shadow.
struct Chunk {
  void* before;
  u64 unused;
  Cell cells[CHUNK_CELLS];
};

// An access that a thread makes now.
struct Access {
  u32 thread, site, kind;
  u32 size;
};

// What an access is made to: a byte of something that has a name and a length.
struct Target {
  u64 offset;
  const char* object;
  u64 length;
};

INNER Found found_of(u32 kind, const Access& access, const Target& target, u32 other) {
  return {kind,        access.thread, access.site,   other, target.offset,
          access.size, target.object, target.length};
}

// Whether a recorded access races with one that a thread makes now.
INNER bool races(const Context* c, const Access& access, Mark mark) {
  if (!(mark.who & VALID)) return false;
  u32 theirs = site_of(c, mark.who)->kind;
  if (mark.who & BY_STRONG && access.kind & STRONG) return false;
  bool both_write = access.kind & theirs & WRITES;
  if ((access.kind | theirs) & SWAP && !both_write) return false;
  return !is_ordered(c, access.thread, mark.who & THREAD_BITS, mark.when);
}

// Stage a race with a recorded access: with a write, or with a read.
INNER void stage_race(Context* c, const Access& access, const Target& target, Mark mark,
                        bool is_write) {
  Found race = found_of(RACE, access, target, mark.who);
  u32 theirs = site_of(c, mark.who)->kind;
  // Where both only write, it is a race if the value that is there changes.
  bool only_writes = !((access.kind | theirs) & READS) && access.size <= MOST_SAVED;
  u32 saved = only_writes ? access.size : 0;
  // It is none if the read is of a value that its thread may drop, and does drop.
  u32 number = (is_write ? access.kind : theirs) >> DROPPED_SHIFT;
  if (number) {
    c->uses[is_write ? access.thread : mark.who & THREAD_BITS].raced |= 1ull << number;
    race.kind = DROPPED;
    saved = 0;
  }
  stage(c, race, saved);
}

// Hold an access against its bytes' cells, then note it there.
INNER void note(Context* c, const Access& access, Target target, Cell* cell, bool must_be_written) {
  u32 by_strong = access.kind & STRONG ? BY_STRONG : 0;
  Mark mine = {access.site << SITE_SHIFT | by_strong | VALID | access.thread, c->now};
  bool reads = access.kind & READS, writes = access.kind & WRITES;
  ROLLED for (u32 i = 0; i < access.size; i++, cell++, target.offset++) {
    Mark* marks = cell->marks;
    if (must_be_written && reads && !(marks[WRITE].who & VALID))
      stage(c, found_of(UNINITIALISED, access, target, 0), 0);
    ROLLED for (u32 k = WRITE; k <= (writes ? OTHER_READ : WRITE); k++)
      if (races(c, access, marks[k])) stage_race(c, access, target, marks[k], k == WRITE);
    if (writes) {
      marks[WRITE] = mine;
      marks[READ].who = marks[OTHER_READ].who = 0;
    } else {
      // A read by a lane of the same warp gives way.
      u32 elsewhere = (marks[READ].who ^ mine.who) & (THREAD_BITS - 31 | VALID);
      if (elsewhere) marks[OTHER_READ] = marks[READ];
      marks[READ] = mine;
    }
  }
}

// The cell of a byte of a region; null where there is no memory for one.
INNER Cell* cell_of(Context* c, Region* region, u64 offset) {
  if (!region->chunks) {
    region->chunks = (Cell**)c_calloc(region->length / CHUNK_CELLS + 1, sizeof(Cell*));
    if (!region->chunks) return nullptr;
  }
  Cell*& cells = region->chunks[offset / CHUNK_CELLS];
  if (!cells) {
    Chunk* chunk = (Chunk*)c_calloc(1, sizeof(Chunk));
    if (!chunk) return nullptr;
    chunk->before = c->last_chunk;
    c->last_chunk = chunk;
    cells = chunk->cells;
  }
  return cells + offset % CHUNK_CELLS;
}

// Give the chunks of shadow back.
INNER void free_cells(Context* c) {
  ROLLED while (c->last_chunk) {
    Chunk* chunk = (Chunk*)c->last_chunk;
    c->last_chunk = chunk->before;
    c_free(chunk);
  }
  ROLLED for (u32 i = 0; i < c->kernel->regions; i++) c_free(c->regions[i].chunks);
}

// A thread uses the values of loads whose bits are set.
CHECK void check_use(Context* c, u32 thread, u64 loads) { c->uses[thread].used |= loads; }

// What may have been dropped and was used after all is a race.
INNER void settle(Context* c) {
  u64 used = 0;
  ROLLED for (u32 i = 0; i < c->kernel->threads; i++) used |= c->uses[i].used & c->uses[i].raced;
  if (!used) return;
  c->wrong = 1;
  ROLLED for (u32 i = 0; i < c->count; i++) {
    Found& found = c->kept[i];
    u32 of_either = c->sites[found.site].kind | site_of(c, found.other)->kind;
    if (found.kind == DROPPED && used >> (of_either >> DROPPED_SHIFT) & 1) found.kind = RACE;
  }
}
