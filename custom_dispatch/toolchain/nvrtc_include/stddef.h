// <stddef.h> for NVRTC, which knows the global names by itself.
#pragma once

namespace std {
using ::ptrdiff_t;
using ::size_t;
}  // namespace std
