// A CUDA driver with two GPUs that are none, an sm_80 and an sm_90: as strict as CUDA's about which
// context is current, and about whose memory, streams, events and functions are used. What it is
// handed runs at once, on the CPU. Every kernel is `simple_mul`, or in place where its name says so.
//
// `fake_count(what, gpu)` says how often something was done on a GPU.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  OK = 0,
  INVALID_VALUE = 1,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  ILLEGAL_ADDRESS = 700,
  NOT_SUPPORTED = 801,
};
enum { CONTEXTS, ALLOCATIONS, LAUNCHES, MODULES, UNLOADS, WAITS, REFUSALS, COUNTERS };
#define GPUS 2
#define MOST 64

typedef struct { int gpu, retained; } Context;
typedef struct { Context *context; } Owned;  // a stream, an event or a module
typedef struct { Context *context; char name[256]; } Function;
typedef struct Allocation { char *start; size_t size; int gpu; struct Allocation *next; } Allocation;

static Context contexts[GPUS] = {{0, 0}, {1, 0}};
static __thread Context *stack[MOST];
static __thread int depth;
static int counts[COUNTERS][GPUS + 1];
static Allocation *allocations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define API __attribute__((visibility("default")))
#define REQUIRE(condition, status) \
  do { if (!(condition)) return refused(__func__, #condition, status); } while (0)

static int refused(const char *function, const char *what, int status) {
  __sync_fetch_and_add(&counts[REFUSALS][0], 1);
  fprintf(stderr, "libcuda.c refuses %s: not %s\n", function, what);
  return status;
}
static Context *current(void) { return depth ? stack[depth - 1] : NULL; }
static void count(int what, int gpu) { __sync_fetch_and_add(&counts[what][gpu], 1); }
API int fake_count(int what, int gpu) { return counts[what][gpu]; }

// The GPU of an address: -1 for memory of the host, which every GPU reads.
static int owner(uint64_t address) {
  int found = -1;
  pthread_mutex_lock(&lock);
  for (Allocation *a = allocations; a; a = a->next)
    if (address >= (uint64_t)a->start && address < (uint64_t)a->start + a->size) found = a->gpu;
  pthread_mutex_unlock(&lock);
  return found;
}
static int usable(uint64_t address, int gpu) {
  int at = owner(address);
  return at == -1 || at == gpu;
}

API int cuInit(unsigned flags) { return OK; }
API int cuDriverGetVersion(int *version) { *version = 13000; return OK; }
API int cuGetErrorName(int status, const char **name) {
  *name = status == ILLEGAL_ADDRESS    ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == INVALID_CONTEXT  ? "CUDA_ERROR_INVALID_CONTEXT"
          : status == INVALID_HANDLE   ? "CUDA_ERROR_INVALID_HANDLE"
          : status == INVALID_DEVICE   ? "CUDA_ERROR_INVALID_DEVICE"
                                       : "CUDA_ERROR_FAKE";
  return OK;
}
API int cuGetErrorString(int status, const char **text) { return cuGetErrorName(status, text); }

API int cuDeviceGetCount(int *number) { *number = GPUS; return OK; }
API int cuDeviceGet(int *device, int ordinal) {
  REQUIRE(ordinal >= 0 && ordinal < GPUS, INVALID_DEVICE);
  *device = ordinal;
  return OK;
}
API int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, size, device ? "Fake Hopper" : "Fake Ampere");
  return OK;
}
API int cuDeviceGetUuid(char uuid[16], int device) { memset(uuid, 1 + device, 16); return OK; }
API int cuDeviceTotalMem(size_t *bytes, int device) { *bytes = (8ul + device) << 30; return OK; }
API int cuDeviceGetAttribute(int *value, int attribute, int device) {
  REQUIRE(device >= 0 && device < GPUS, INVALID_DEVICE);
  *value = attribute == 75   ? 8 + device  // the compute capability's major version
           : attribute == 38 ? 1 << 20     // bytes of the L2 cache
           : attribute == 16 ? 4           // multiprocessors
           : attribute <= 8 || attribute == 97 ? 1024 * (1 + 63 * (attribute > 4)) : 0;  // limits
  return OK;
}

API int cuDevicePrimaryCtxRetain(Context **context, int device) {
  REQUIRE(device >= 0 && device < GPUS, INVALID_DEVICE);
  *context = &contexts[device];
  contexts[device].retained++;
  count(CONTEXTS, device);
  return OK;
}
API int cuDevicePrimaryCtxRelease(int device) { contexts[device].retained--; return OK; }
API int cuCtxGetCurrent(Context **context) { *context = current(); return OK; }
API int cuCtxSetCurrent(Context *context) {
  if (depth && !context) depth--;
  else if (context) stack[depth ? depth - 1 : depth++] = context;
  return OK;
}
API int cuCtxPushCurrent(Context *context) {
  REQUIRE(context && depth < MOST, INVALID_CONTEXT);
  stack[depth++] = context;
  return OK;
}
API int cuCtxPopCurrent(Context **context) {
  REQUIRE(depth, INVALID_CONTEXT);
  *context = stack[--depth];
  return OK;
}
API int cuCtxGetDevice(int *device) {
  REQUIRE(current(), INVALID_CONTEXT);
  *device = current()->gpu;
  return OK;
}
API int cuCtxSynchronize(void) {
  REQUIRE(current(), INVALID_CONTEXT);
  count(WAITS, current()->gpu);
  return OK;
}
API int cuCtxCreate(Context **context, unsigned flags, int device) { return NOT_SUPPORTED; }
API int cuCtxDestroy(Context *context) { return NOT_SUPPORTED; }

static int make(Owned **made) {
  REQUIRE(current(), INVALID_CONTEXT);
  *made = malloc(sizeof(Owned));
  (*made)->context = current();
  return OK;
}
API int cuStreamCreate(Owned **stream, unsigned flags) { return make(stream); }
API int cuEventCreate(Owned **event, unsigned flags) { return make(event); }
API int cuStreamDestroy(Owned *stream) { return OK; }
API int cuEventDestroy(Owned *event) { return OK; }
// The GPU of a stream; of the default streams 0, 1 and 2 that of the current context.
static int gpu_of(Owned *stream) {
  if ((uint64_t)stream > 2) return stream->context->gpu;
  return current() ? current()->gpu : -1;
}
API int cuStreamQuery(Owned *stream) {
  REQUIRE(gpu_of(stream) >= 0, INVALID_CONTEXT);
  count(WAITS, gpu_of(stream));
  return OK;
}
API int cuStreamSynchronize(Owned *stream) { return cuStreamQuery(stream); }
API int cuStreamWaitEvent(Owned *stream, Owned *event, unsigned flags) { return OK; }
API int cuStreamWaitValue32(Owned *stream, uint64_t address, unsigned value, unsigned flags) {
  return NOT_SUPPORTED;
}
API int cuEventRecord(Owned *event, Owned *stream) {
  REQUIRE(gpu_of(stream) == event->context->gpu, INVALID_HANDLE);
  return OK;
}
API int cuEventQuery(Owned *event) { return OK; }
API int cuEventSynchronize(Owned *event) { return OK; }
API int cuEventElapsedTime(float *milliseconds, Owned *start, Owned *stop) {
  *milliseconds = 0.01f;
  return OK;
}
API int cuLaunchHostFunc(Owned *stream, void (*function)(void *), void *data) {
  function(data);
  return OK;
}

API int cuMemAlloc(uint64_t *address, size_t size) {
  REQUIRE(current(), INVALID_CONTEXT);
  Allocation *made = malloc(sizeof *made);
  made->start = aligned_alloc(256, (size + 255) & ~255ul);
  made->size = size;
  made->gpu = current()->gpu;
  pthread_mutex_lock(&lock);
  made->next = allocations;
  allocations = made;
  pthread_mutex_unlock(&lock);
  memset(made->start, 0xff, size);  // NaN, until something is written
  count(ALLOCATIONS, made->gpu);
  *address = (uint64_t)made->start;
  return OK;
}
API int cuMemFree(uint64_t address) {  // its address stays taken: who uses it later is found out
  REQUIRE(current(), INVALID_CONTEXT);
  return OK;
}
API int cuMemGetInfo(size_t *unused, size_t *total) {
  REQUIRE(current(), INVALID_CONTEXT);
  *unused = *total = (8ul + current()->gpu) << 30;
  return OK;
}
API int cuMemHostAlloc(void **memory, size_t size, unsigned flags) {
  REQUIRE(current(), INVALID_CONTEXT);
  *memory = aligned_alloc(256, (size + 255) & ~255ul);
  return OK;
}
API int cuMemAllocHost(void **memory, size_t size) { return cuMemHostAlloc(memory, size, 0); }
API int cuMemFreeHost(void *memory) { return OK; }
API int cuMemHostRegister(void *memory, size_t size, unsigned flags) {
  REQUIRE(current(), INVALID_CONTEXT);
  return OK;
}
API int cuMemHostUnregister(void *memory) { return OK; }
API int cuMemHostGetDevicePointer(uint64_t *address, void *memory, unsigned flags) {
  *address = (uint64_t)memory;
  return OK;
}
static int copy(uint64_t to, uint64_t from, size_t size, int gpu) {
  REQUIRE(gpu >= 0, INVALID_CONTEXT);
  REQUIRE(usable(to, gpu) && usable(from, gpu), ILLEGAL_ADDRESS);
  memmove((void *)to, (void *)from, size);
  return OK;
}
API int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, Owned *stream) {
  return copy(to, from, size, gpu_of(stream));
}
API int cuMemcpyHtoDAsync(uint64_t to, void *from, size_t size, Owned *stream) {
  return copy(to, (uint64_t)from, size, gpu_of(stream));
}
API int cuMemcpyDtoHAsync(void *to, uint64_t from, size_t size, Owned *stream) {
  return copy((uint64_t)to, from, size, gpu_of(stream));
}
API int cuMemcpyDtoDAsync(uint64_t to, uint64_t from, size_t size, Owned *stream) {
  return copy(to, from, size, gpu_of(stream));
}
API int cuMemcpyHtoD(uint64_t to, void *from, size_t size) {
  return copy(to, (uint64_t)from, size, gpu_of(NULL));
}
API int cuMemcpyDtoH(void *to, uint64_t from, size_t size) {
  return copy((uint64_t)to, from, size, gpu_of(NULL));
}
API int cuMemcpyDtoD(uint64_t to, uint64_t from, size_t size) {
  return copy(to, from, size, gpu_of(NULL));
}
static int fill(uint64_t to, const void *word, size_t width, size_t times, int gpu) {
  REQUIRE(gpu >= 0, INVALID_CONTEXT);
  REQUIRE(usable(to, gpu), ILLEGAL_ADDRESS);
  for (size_t i = 0; i < times; i++) memcpy((char *)to + i * width, word, width);
  return OK;
}
API int cuMemsetD8Async(uint64_t to, unsigned char word, size_t times, Owned *stream) {
  return fill(to, &word, 1, times, gpu_of(stream));
}
API int cuMemsetD16Async(uint64_t to, unsigned short word, size_t times, Owned *stream) {
  return fill(to, &word, 2, times, gpu_of(stream));
}
API int cuMemsetD32Async(uint64_t to, unsigned word, size_t times, Owned *stream) {
  return fill(to, &word, 4, times, gpu_of(stream));
}
API int cuMemsetD8(uint64_t to, unsigned char word, size_t times) {
  return fill(to, &word, 1, times, gpu_of(NULL));
}

API int cuModuleLoadDataEx(Owned **module, const char *image, unsigned n, void *o, void **v) {
  REQUIRE(current(), INVALID_CONTEXT);
  // Code for a later GPU than the one at hand does not load.
  REQUIRE(!strstr(image, ".target sm_90") || current()->gpu == 1, 218);
  count(MODULES, current()->gpu);
  return make(module);
}
API int cuModuleUnload(Owned *module) {
  REQUIRE(current() == module->context, INVALID_CONTEXT);
  count(UNLOADS, current()->gpu);
  return OK;
}
API int cuModuleGetFunction(Function **function, Owned *module, const char *name) {
  *function = malloc(sizeof(Function));
  (*function)->context = module->context;
  snprintf((*function)->name, sizeof (*function)->name, "%s", name);
  return OK;
}
API int cuModuleGetGlobal(uint64_t *address, size_t *size, Owned *module, const char *name) {
  return 500;
}
API int cuFuncSetAttribute(Function *function, int attribute, int value) { return OK; }
API int cuFuncGetAttribute(int *value, int attribute, Function *function) {
  *value = 1024;
  return OK;
}
API int cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, Owned *stream, void **p,
                       void **extra) {
  int gpu = gpu_of(stream);
  REQUIRE(gpu >= 0, INVALID_CONTEXT);
  REQUIRE(function->context->gpu == gpu, INVALID_HANDLE);
  float *lhs = *(float **)*p++, *rhs = *(float **)*p++;
  float *product = strstr(function->name, "inplace") ? rhs : *(float **)*p++;
  int size = *(int *)*p;
  REQUIRE(usable((uint64_t)lhs, gpu) && usable((uint64_t)rhs, gpu), ILLEGAL_ADDRESS);
  REQUIRE(usable((uint64_t)product, gpu), ILLEGAL_ADDRESS);
  for (int i = 0; i < size; i++) product[i] = lhs[i] * rhs[i];
  count(LAUNCHES, gpu);
  return OK;
}

// Asked for by IREE when it loads the driver, and not called.
#define ABSENT(name) API int name(void) { return NOT_SUPPORTED; }
ABSENT(cuGraphAddEmptyNode) ABSENT(cuGraphAddEventRecordNode) ABSENT(cuGraphAddMemcpyNode)
ABSENT(cuGraphAddMemsetNode) ABSENT(cuGraphAddKernelNode) ABSENT(cuGraphCreate)
ABSENT(cuGraphDestroy) ABSENT(cuGraphExecDestroy) ABSENT(cuGraphGetNodes)
ABSENT(cuGraphInstantiate) ABSENT(cuGraphLaunch) ABSENT(cuMemAllocManaged)
ABSENT(cuMemPrefetchAsync) ABSENT(cuMemPoolCreate) ABSENT(cuMemPoolDestroy)
ABSENT(cuMemPoolSetAccess) ABSENT(cuMemPoolGetAttribute) ABSENT(cuMemPoolSetAttribute)
ABSENT(cuMemPoolTrimTo) ABSENT(cuMemAllocFromPoolAsync) ABSENT(cuMemFreeAsync)
ABSENT(cuGetExportTable)  // NVRTC asks for it

API int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  Dl_info here;
  dladdr((void *)fake_count, &here);
  *function = dlsym(dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD), name);
  return *function ? OK : 500;
}

#define SECOND(name) extern __typeof__(name) name##_v2 __attribute__((alias(#name))) API;
SECOND(cuCtxPushCurrent) SECOND(cuCtxPopCurrent) SECOND(cuMemGetInfo) SECOND(cuMemFree)
SECOND(cuMemAlloc) SECOND(cuMemAllocHost) SECOND(cuDeviceTotalMem) SECOND(cuMemcpyHtoD)
SECOND(cuMemcpyDtoH) SECOND(cuMemcpyDtoD) SECOND(cuMemcpyDtoDAsync) SECOND(cuMemsetD8)
SECOND(cuMemcpyHtoDAsync) SECOND(cuMemcpyDtoHAsync) SECOND(cuEventDestroy)
SECOND(cuStreamWaitValue32)
