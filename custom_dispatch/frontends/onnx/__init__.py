"""ONNX models: kernels as operators, and models as MLIR."""
