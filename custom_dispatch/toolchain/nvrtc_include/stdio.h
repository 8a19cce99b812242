// Nothing: what <stdio.h> holds of use on a GPU, NVRTC knows by itself.
#pragma once
