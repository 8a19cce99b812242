// The monitor of checked mode: what compiled kernels call to have what they do checked.
//
// It is compiled once, to monitor.ptx, which ships with the package and is lowered for the CPU like
// kernels are (device_functions.py). `python tests/cpu/monitor_ptx.py` compiles it anew.
#include "access.cuh"
#include "monitor.cuh"
#include "printf.cuh"
#include "report.cuh"
#include "waiting.cuh"

INNER u64 round_up(u64 size) { return (size + 63) / 64 * 64; }

// The context of a block that begins, with its memory; null where there is none for it.
CHECK Context* check_begin(const Kernel* kernel, const Site* sites, const char* texts,
                           const char* findings, u32 x, u32 y, u32 z) {
  u64 records = kernel->has_records ? sizeof(Record) * (kernel->threads + 31) : 0;
  u64 uses = kernel->may_drop ? sizeof(Uses) * kernel->threads : 0;
  u64 cells = sizeof(Cell) * kernel->shared_bytes, regions = sizeof(Region) * kernel->regions;
  u64 others = round_up(records) + round_up(uses) + round_up(cells) + round_up(regions);
  u64 size = round_up(sizeof(Context)) + others + kernel->memory_bytes;
  byte* taken = (byte*)c_calloc(size + 64, 1);
  if (!taken) return nullptr;
  byte* start = (byte*)round_up((u64)taken);
  Context* c = (Context*)start;
  start += round_up(sizeof(Context));
  if (records) c->records = (Record*)start;
  start += round_up(records);
  c->uses = (Uses*)start;
  start += round_up(uses);
  c->shared_cells = (Cell*)start;
  start += round_up(cells);
  c->regions = (Region*)start;
  start += round_up(regions);
  c->memory = start;
  c->taken = taken;
  c->kernel = kernel;
  c->sites = sites;
  c->texts = texts;
  c->findings = findings;
  c->block[0] = x;
  c->block[1] = y;
  c->block[2] = z;
  c->now = 1;
  return c;
}

// Where an operand or a variable lies.
CHECK void check_region(Context* c, u32 index, u64 base, u64 length, u32 name, u32 writable) {
  c->regions[index] = {base, length, nullptr, name, writable};
}

// A block has run: what was found is told, and its memory given back. Whether more than notes was.
CHECK u32 check_end(Context* c) {
  if (c->kernel->may_drop) settle(c);
  u32 wrong = c->failed | c->wrong;
  if (wrong | c->count) report_findings(c);
  free_cells(c);
  c_free(c->taken);
  return wrong;
}
