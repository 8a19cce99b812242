"""ONNX models: kernels as operators, and models as MLIR."""

from custom_dispatch.installation import require_framework

require_framework("onnx", "ONNX")
