// Nothing: what <stdlib.h> holds of use on a GPU, NVRTC knows by itself.
#pragma once
