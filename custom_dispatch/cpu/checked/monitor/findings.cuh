// Noting what is found.
//
// A block ends with a finding after which its memory cannot be relied on. After the others it goes
// on: they are staged, and kept when the access that they are of has been made. Then it is known,
// too, whether a write has changed anything. Each is told once, whatever the threads and blocks that
// it is found in.
#pragma once
#include "monitor.cuh"

// Note a finding: the block ends.
INNER void find(Context* c, const Found& found) {
  c->stopped = found;
  c->failed = 1;
}

// What fails nothing.
INNER bool is_note(u32 kind) { return kind == SAME_VALUE || kind == DROPPED; }

// Note a finding after which the block goes on. There is one of an access, the first; but what may
// turn out to be a note gives way. `saved`: how many bytes are to be compared with what the access
// will have left there.
INNER void stage(Context* c, const Found& found, u32 saved) {
  bool is_free = !c->pending;
  if (found.kind != DROPPED) is_free |= c->staged.kind == DROPPED || (c->saved && !saved);
  if (!is_free) return;
  c->pending = 1;
  c->saved = saved;
  c->staged = found;
}

// What a finding has in common with the same one of other threads.
INNER u64 key_of(const Found& found) {
  u64 site = found.site, other = found.other >> SITE_SHIFT;
  return found.kind | min(site, other) << 8 | max(site, other) << 36;
}

// Keep what is staged, if anything is: as a note, if it is a write that changed nothing.
INNER void keep_staged(Context* c) {
  if (!c->pending) return;
  c->pending = 0;
  bool same = c->saved != 0;
  ROLLED for (u32 i = 0; i < c->saved; i++) same &= c->saved_bytes[i] == c->address[i];
  c->saved = 0;
  if (same) c->staged.kind = SAME_VALUE;
  bool note = is_note(c->staged.kind);
  if (!note) c->wrong = 1;
  u64 key = key_of(c->staged);
  ROLLED for (u32 i = 0; i < c->count; i++) if (key_of(c->kept[i]) == key) return;
  // The last place is for what is more than a note.
  if (c->count < (note ? MOST_KEPT - 1 : MOST_KEPT)) c->kept[c->count++] = c->staged;
}

// A finding of an instruction that ends the block.
CHECK void check_found(Context* c, u32 kind, u32 thread, u32 site, u64 offset, u64 size,
                       const char* object, u64 length) {
  find(c, {kind, thread, site, 0, offset, size, object, length});
}

// What is staged is kept, when a thread has stopped; whether something has ended the block.
CHECK u32 check_stops(Context* c) {
  keep_staged(c);
  return c->failed;
}
