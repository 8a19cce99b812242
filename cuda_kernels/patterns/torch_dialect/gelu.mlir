// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %float3.000000e00 = torch.constant.float 3.000000e+00
    %0 = torch.aten.pow.Tensor_Scalar %arg0, %float3.000000e00 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %float4.471500e-02 = torch.constant.float 4.471500e-02
    %1 = torch.aten.mul.Scalar %0, %float4.471500e-02 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %arg0, %1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %float7.978850e-01 = torch.constant.float 0.79788456080286541
    %3 = torch.aten.mul.Scalar %2, %float7.978850e-01 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %4 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %5 = torch.aten.tanh %3 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %6 = torch.aten.add.Scalar %5, %float1.000000e00, %int1 : !torch.vtensor<[?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?],bf16>
    %7 = torch.aten.mul.Tensor %4, %6 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %7 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %float3.000000e00 = torch.constant.float 3.000000e+00
    %0 = torch.aten.pow.Tensor_Scalar %arg0, %float3.000000e00 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %float4.471500e-02 = torch.constant.float 4.471500e-02
    %1 = torch.aten.mul.Scalar %0, %float4.471500e-02 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %arg0, %1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %float7.978850e-01 = torch.constant.float 0.79788456080286541
    %3 = torch.aten.mul.Scalar %2, %float7.978850e-01 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %4 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %5 = torch.aten.tanh %3 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %6 = torch.aten.add.Scalar %5, %float1.000000e00, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %7 = torch.aten.mul.Tensor %4, %6 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %7 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %float3.000000e00 = torch.constant.float 3.000000e+00
    %0 = torch.aten.pow.Tensor_Scalar %arg0, %float3.000000e00 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %float4.471500e-02 = torch.constant.float 4.471500e-02
    %1 = torch.aten.mul.Scalar %0, %float4.471500e-02 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %arg0, %1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %float7.978850e-01 = torch.constant.float 0.79788456080286541
    %3 = torch.aten.mul.Scalar %2, %float7.978850e-01 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %4 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %5 = torch.aten.tanh %3 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %6 = torch.aten.add.Scalar %5, %float1.000000e00, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %7 = torch.aten.mul.Tensor %4, %6 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %7 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %str = torch.constant.str "none"
    %0 = torch.aten.gelu %arg0, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %0 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %str = torch.constant.str "none"
    %0 = torch.aten.gelu %arg0, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %str = torch.constant.str "none"
    %0 = torch.aten.gelu %arg0, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %0 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %float1.414210e00 = torch.constant.float 1.4142135623730951
    %1 = torch.aten.div.Scalar %arg0, %float1.414210e00 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %2 = torch.aten.erf %1 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %int1 = torch.constant.int 1
    %3 = torch.aten.add.Scalar %2, %float1.000000e00, %int1 : !torch.vtensor<[?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?],bf16>
    %4 = torch.aten.mul.Tensor %0, %3 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %4 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %0 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %float1.414210e00 = torch.constant.float 1.4142135623730951
    %1 = torch.aten.div.Scalar %arg0, %float1.414210e00 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %2 = torch.aten.erf %1 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %int1 = torch.constant.int 1
    %3 = torch.aten.add.Scalar %2, %float1.000000e00, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %4 = torch.aten.mul.Tensor %0, %3 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %4 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %0 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %float1.414210e00 = torch.constant.float 1.4142135623730951
    %1 = torch.aten.div.Scalar %arg0, %float1.414210e00 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %2 = torch.aten.erf %1 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %int1 = torch.constant.int 1
    %3 = torch.aten.add.Scalar %2, %float1.000000e00, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %4 = torch.aten.mul.Tensor %0, %3 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %4 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %str = torch.constant.str "tanh"
    %0 = torch.aten.gelu %arg0, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %0 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %str = torch.constant.str "tanh"
    %0 = torch.aten.gelu %arg0, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %str = torch.constant.str "tanh"
    %0 = torch.aten.gelu %arg0, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %float7.978850e-01 = torch.constant.float 0.79788456080286541
    %0 = torch.aten.mul.Scalar %arg0, %float7.978850e-01 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %float4.471500e-02 = torch.constant.float 4.471500e-02
    %1 = torch.aten.mul.Scalar %arg0, %float4.471500e-02 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %2 = torch.aten.mul.Tensor %1, %arg0 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %int1 = torch.constant.int 1
    %3 = torch.aten.add.Scalar %2, %float1.000000e00, %int1 : !torch.vtensor<[?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?],bf16>
    %4 = torch.aten.mul.Tensor %0, %3 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %5 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %6 = torch.aten.tanh %4 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %7 = torch.aten.add.Scalar %6, %float1.000000e00, %int1 : !torch.vtensor<[?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?],bf16>
    %8 = torch.aten.mul.Tensor %5, %7 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %8 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %float7.978850e-01 = torch.constant.float 0.79788456080286541
    %0 = torch.aten.mul.Scalar %arg0, %float7.978850e-01 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %float4.471500e-02 = torch.constant.float 4.471500e-02
    %1 = torch.aten.mul.Scalar %arg0, %float4.471500e-02 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %2 = torch.aten.mul.Tensor %1, %arg0 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %int1 = torch.constant.int 1
    %3 = torch.aten.add.Scalar %2, %float1.000000e00, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %4 = torch.aten.mul.Tensor %0, %3 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %5 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %6 = torch.aten.tanh %4 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %7 = torch.aten.add.Scalar %6, %float1.000000e00, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %8 = torch.aten.mul.Tensor %5, %7 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %8 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %float7.978850e-01 = torch.constant.float 0.79788456080286541
    %0 = torch.aten.mul.Scalar %arg0, %float7.978850e-01 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %float4.471500e-02 = torch.constant.float 4.471500e-02
    %1 = torch.aten.mul.Scalar %arg0, %float4.471500e-02 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %2 = torch.aten.mul.Tensor %1, %arg0 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %int1 = torch.constant.int 1
    %3 = torch.aten.add.Scalar %2, %float1.000000e00, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %4 = torch.aten.mul.Tensor %0, %3 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %float5.000000e-01 = torch.constant.float 5.000000e-01
    %5 = torch.aten.mul.Scalar %arg0, %float5.000000e-01 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %6 = torch.aten.tanh %4 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %7 = torch.aten.add.Scalar %6, %float1.000000e00, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %8 = torch.aten.mul.Tensor %5, %7 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %8 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
