// The C names that a source has without any #include when nvcc compiles it, through cuda_runtime.h.
// Included before every source that NVRTC compiles, so that both compilers take the same sources.
#pragma once

#include "limits.h"
#include "math.h"
#include "stddef.h"
