#!/usr/bin/env bash
# Put a kernel into a model in MLIR, and run it with IREE's own tool.
#
#     bash examples/plain_mlir/run.sh
#
# On a GPU, pass --device=cuda in place of --device=local-task: it is the same file.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

custom-dispatch compile "$here/model.mlir" --kernels cuda_kernels.elementwise.swiglu \
  -o "$directory/model.vmfb"

# x, gate and up are all 0.125, so each product is 1, and swiglu(1, 1) is 1 / (1 + exp(-1)).
iree-run-module --device=local-task --module="$directory/model.vmfb" --function=feed_forward \
  --input=1x64xf32=0.125 --input=64x64xf32=0.125 --input=64x64xf32=0.125
