// Nothing: what <assert.h> holds of use on a GPU, NVRTC knows by itself.
#pragma once
