// What checked mode has found, in words.
#pragma once
#include "shadow.cuh"

const u32 REPORT_BYTES = 8192;  // room for the findings' texts, as in finding.py
const u32 MOST_TOLD = 24, MOST_NOTES = 8;

// The texts since the last time that somebody asked, and the findings they are of.
static __device__ char report[REPORT_BYTES];
static __device__ u32 report_size, is_reporting, is_quiet;
static __device__ u64 told[MOST_TOLD];
static __device__ u32 told_count;

INNER const char* verb_of(u32 kind) {
  if ((kind & (READS | WRITES)) == WRITES) return "writes";
  return kind & WRITES ? "atomically updates" : "reads";
}

// Whether a text begins with another.
CHECK __noinline__ u32 check_begins(const char* text, const char* other) {
  ROLLED while (*other)
    if (*text++ != *other++) return 0;
  return 1;
}

// Put the value into words that a name in a text stands for.
INNER void put_value(Stream* out, const Context* c, const Found& found, const char* name) {
  bool theirs = check_begins(name, "other ");
  if (theirs) name += 6;
  const Kernel& kernel = *c->kernel;
  const Site& site = theirs ? *site_of(c, found.other) : c->sites[found.site];
  u32 thread = theirs ? found.other & THREAD_BITS : found.thread, row = thread / kernel.width;
  bool is_block = check_begins(name, "block");
  if (is_block || check_begins(name, "thread")) {
    c_fprintf_int(out, "(%u", is_block ? c->block[0] : thread % kernel.width);
    c_fprintf_int(out, ", %u", is_block ? c->block[1] : row % kernel.height);
    c_fprintf_int(out, ", %u)", is_block ? c->block[2] : row / kernel.height);
    return;
  }
  const char* text = nullptr;
  if (check_begins(name, "kernel")) text = c->texts + kernel.name;
  if (check_begins(name, "place")) text = c->texts + site.place;
  if (check_begins(name, "verb")) text = verb_of(site.kind);
  if (check_begins(name, "object") || check_begins(name, "assertion")) text = found.object;
  if (check_begins(name, "file")) text = (const char*)found.offset;
  if (check_begins(name, "function")) text = (const char*)found.length;
  if (text) {
    c_fputs(text, out);
    return;
  }
  u64 number = found.offset;  // "offset", "lane", "address"
  if (check_begins(name, "length")) number = found.length;
  if (check_begins(name, "size") || check_begins(name, "line")) number = found.size;
  c_fprintf_long(out, check_begins(name, "address") ? "0x%llx" : "%lld", number);
}

// Put a finding into words. In its text, names in braces stand for values.
INNER void put_finding(Stream* out, const Context* c, const Found& found) {
  const char* text = c->findings;
  ROLLED for (u32 i = 0; i < found.kind; text++) i += *text == 0;
  ROLLED for (; *text; text++) {
    if (*text != '{') {
      c_fputc(*text, out);
      continue;
    }
    put_value(out, c, found, text + 1);
    ROLLED while (*text != '}') text++;
  }
}

// Tell of a finding, unless that was done, or there was too much of it.
INNER void tell(const Context* c, const Found& found) {
  u64 key = key_of(found);
  ROLLED for (u32 i = 0; i < told_count; i++) if (told[i] == key) return;
  if (told_count >= (is_note(found.kind) ? MOST_NOTES : MOST_TOLD)) return;
  told[told_count++] = key;
  char* text;
  u64 size;
  Stream* out = c_open_memstream(&text, &size);
  put_finding(out, c, found);
  c_fclose(out);
  u64 used = report_size, kept = min(size, REPORT_BYTES - 1 - used);
  ROLLED for (u64 i = 0; i < kept; i++) report[used + i] = text[i];
  report[used + kept] = 0;
  report_size = used + kept;
  if (!is_quiet) {
    text[size] = '\n';           // in place of the zero
    c_write(2, text + 1, size);  // without the mark
  }
  c_free(text);
}

// Put what a block has found into words, where no block did so before.
INNER void report_findings(const Context* c) {
  ROLLED while (atomicOr(&is_reporting, 1)) {}
  __threadfence();
  u32 count = c->count + c->failed;
  ROLLED for (u32 i = 0; i < count; i++) tell(c, i < c->count ? c->kept[i] : c->stopped);
  __threadfence();
  atomicExch(&is_reporting, 0);
}

// Give what was found since this was last called, as texts with a mark before each and a zero behind
// the last. From then on findings are not written to standard error any more: who calls this once
// takes care of them.
CHECK void check_findings(char* target) {
  ROLLED for (u32 i = 0; i < REPORT_BYTES; i++) target[i] = report[i];
  report[0] = 0;
  told_count = report_size = 0;
  is_quiet = 1;
}
