// What is known of a block while it runs in checked mode, and how it lies in memory.
//
// A block has a context: its place in the grid, a clock, and pointers to the rest. The regions are
// the kernel's operands and the module's variables, with their bounds. The records say what each
// thread knows of the others (order.cuh). The shadow has a cell for each byte of shared memory and,
// made when first touched, of the operands and variables that a kernel may write (shadow.cuh). A
// block's context is its own, so blocks on several cores do not disturb each other, nor can one find
// what another does.
#pragma once

typedef unsigned char byte;
typedef unsigned int u32;
typedef unsigned long long u64;

// Functions that a module's code calls. No two functions may call the same one of them: IREE takes
// a function that it comes to on two ways for a recursion (ReconcileTranslationInfo.cpp).
#define CHECK extern "C" __device__
#define INNER static __device__ __forceinline__
#define ROLLED _Pragma("unroll 1")  // CPU code of unrolled loops takes LLVM longer

// The functions of the C library, and `fprintf` with one argument of a type (c_library.py).
typedef void Stream;
extern "C" __device__ void* c_calloc(u64 count, u64 size);
extern "C" __device__ void c_free(void* memory);
extern "C" __device__ u64 c_write(u32 file, const char* text, u64 size);
extern "C" __device__ Stream* c_open_memstream(char** text, u64* size);
extern "C" __device__ u32 c_fclose(Stream* stream);
extern "C" __device__ u32 c_fputc(u32 character, Stream* stream);
extern "C" __device__ u32 c_fputs(const char* text, Stream* stream);
extern "C" __device__ u32 c_fprintf_int(Stream* stream, const char* format, u32 value);
extern "C" __device__ u32 c_fprintf_long(Stream* stream, const char* format, u64 value);
extern "C" __device__ u32 c_fprintf_double(Stream* stream, const char* format, double value);

const u32 WARPS = 32, BARRIERS = 16, MOST_SAVED = 32, MOST_KEPT = 8;

// What can be found: the tables of findings.toml, in their order. `Finding` in finding.py has those
// that compiled code notes itself.
enum Finding : u32 {
  OUT_OF_BOUNDS,
  MISALIGNED,
  READ_ONLY,
  FOREIGN,
  UNINITIALISED,
  RACE,
  TRAP,
  ASSERTION,
  DEADLOCK,
  WAITS_IN_VAIN,
  DIVISION,
  SPIN,
  DIVERGED,
  ABSENT,
  SAME_VALUE,
  DROPPED,
};

// An instruction, as checks know it (sites.py).
struct Site {
  u32 kind;
  u32 space;
  u32 low;     // the region's number; or where the variable begins in shared memory, or in the
  u32 high;    // thread's state; and where it ends
  u32 place;   // texts are given by their place among the module's texts
  u32 object;
};

// What a site's kind is made of. ALIGNED is a barrier that all threads of a warp must execute
// together (`.aligned`), EXCHANGE what takes other lanes' values: a shuffle or a vote. Behind the
// shift is the number of a load whose value may be dropped (dropped_loads.py), or 0.
enum Kind : u32 { READS = 1, WRITES = 2, STRONG = 4, SWAP = 8, ALIGNED = 16, EXCHANGE = 32 };
const u32 DROPPED_SHIFT = 8;
enum Space : u32 { IN_REGION, IN_SHARED, IN_LOCAL, ANYWHERE };

// The word that says who made an access: a thread, some bits, and a site's number.
const u32 THREAD_BITS = 0x3FF, BY_STRONG = 0x400, VALID = 0x800, SITE_SHIFT = 12;

// A recorded access: who made it, and when.
struct Mark {
  u32 who, when;
};

// What is known of a byte: its last write and two reads.
struct Cell {
  Mark marks[3];
};
enum Marks : u32 { WRITE, READ, OTHER_READ };

// A finding: what there is to say about it.
struct Found {
  u32 kind, thread, site;
  u32 other;  // the record of another thread's access
  u64 offset, size;
  const char* object;
  u64 length;
};

// An operand, or a variable of the module.
struct Region {
  u64 base, length;
  Cell** chunks;  // of shadow, each null until touched
  u32 name;
  u32 writable;
};

// What a thread knows of others: up to when their accesses come before what it does now.
struct Record {
  u32 warps[WARPS];  // by warp
  u32 lanes[WARPS];  // by lane of the thread's own warp
  u32 fenced;        // when the thread last executed a fence
  u32 sees_fences;   // up to when it sees what other threads did before their fences
};

// The loads whose values a thread used, and those that raced, as bits.
struct Uses {
  u64 used, raced;
};

// A kernel, as checks know it (checks.py). Behind it are the sites where its threads wait, by the
// places that they go on from, from 1 on.
struct Kernel {
  u32 name;
  u32 width, height, threads;  // of a block
  u32 shared_bytes, memory_bytes;
  u32 local_bytes;  // local memory at the start of a thread's state
  u32 regions;
  u32 has_records;  // whether more than barriers of the whole block puts threads in order
  u32 may_drop;     // whether there are loads whose values a thread may drop
};

struct Context {
  byte* memory;  // the block's, which shared memory begins; checked_block.py reads it
  void* taken;   // what is to be given back
  const Kernel* kernel;
  const Site* sites;
  const char* texts;     // of the module, each with a zero at its end
  const char* findings;  // what findings are called, in the order of `Finding`; the same
  Cell* shared_cells;
  Record* records;
  Region* regions;
  Uses* uses;
  u32 block[3];  // its place in the grid
  u32 failed;    // whether `stopped` has ended the block
  u32 now;       // the clock: it goes on where threads are put in order
  u32 barrier;   // when all threads of the block last met
  u32 spins;     // strong accesses of the running thread since it last waited
  u32 count;     // how many findings were kept after which the block went on
  u32 wrong;     // whether one of them was more than a note
  u32 pending;   // whether a finding is staged
  u32 saved;     // how many bytes a staged write found in memory, of those that it will have
                 // written; 0 where they do not matter
  byte saved_bytes[MOST_SAVED];
  const byte* address;  // where
  void* last_chunk;     // of shadow; each begins with a pointer to the one made before
  Found staged, stopped;
  Found kept[MOST_KEPT];
  u32 meetings[BARRIERS][WARPS];  // what the threads knew that have come to each barrier
};

INNER u32 tick(Context* c) { return c->now++; }

INNER const Site* site_of(const Context* c, u32 who) { return c->sites + (who >> SITE_SHIFT); }
