// ["f32", "f16", "bf16"]
// {"kernel": "matmul_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %2 = torch.aten.relu %1 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %2 = torch.aten.relu %1 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %2 = torch.aten.relu %1 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    %2 = torch.aten.relu %1 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %2 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %2 = torch.aten.silu %1 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %2 = torch.aten.silu %1 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %2 = torch.aten.silu %1 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    %2 = torch.aten.silu %1 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %2 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %str = torch.constant.str "none"
    %2 = torch.aten.gelu %1, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %str = torch.constant.str "none"
    %2 = torch.aten.gelu %1, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %str = torch.constant.str "none"
    %2 = torch.aten.gelu %1, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    %str = torch.constant.str "none"
    %2 = torch.aten.gelu %1, %str : !torch.vtensor<[11,13,17,?],bf16>, !torch.str -> !torch.vtensor<[11,13,17,?],bf16>
    return %2 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[11,13,17,?],bf16>, !torch.str -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %str = torch.constant.str "tanh"
    %2 = torch.aten.gelu %1, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %str = torch.constant.str "tanh"
    %2 = torch.aten.gelu %1, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %str = torch.constant.str "tanh"
    %2 = torch.aten.gelu %1, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    %str = torch.constant.str "tanh"
    %2 = torch.aten.gelu %1, %str : !torch.vtensor<[11,13,17,?],bf16>, !torch.str -> !torch.vtensor<[11,13,17,?],bf16>
    return %2 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[11,13,17,?],bf16>, !torch.str -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %2 = torch.aten.add.Tensor %arg3, %1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %2 = torch.aten.add.Tensor %arg3, %1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %2 = torch.aten.add.Tensor %arg3, %1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[11,13,17,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    %2 = torch.aten.add.Tensor %arg3, %1, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[11,13,17,?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    return %2 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg2, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %int1 = torch.constant.int 1
    %0 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %int-1 = torch.constant.int -1
    %1 = torch.prim.ListConstruct %int-1, %0 : (!torch.int, !torch.int) -> !torch.list<int>
    %2 = torch.aten.view %arg0, %1 : !torch.vtensor<[?,?],bf16>, !torch.list<int> -> !torch.vtensor<[?,?],bf16>
    %3 = torch.aten.addmm %arg2, %2, %arg1, %int1, %int1 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int0 = torch.constant.int 0
    %4 = torch.aten.size.int %arg0, %int0 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %5 = torch.aten.size.int %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %6 = torch.prim.ListConstruct %4, %5 : (!torch.int, !torch.int) -> !torch.list<int>
    %7 = torch.aten.view %3, %6 : !torch.vtensor<[?,?],bf16>, !torch.list<int> -> !torch.vtensor<[?,?],bf16>
    return %7 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.int
    %int-1 = torch.constant.int -1
    %1 = torch.prim.ListConstruct %int-1, %0 : (!torch.int, !torch.int) -> !torch.list<int>
    %2 = torch.aten.view %arg0, %1 : !torch.vtensor<[?,?,?],bf16>, !torch.list<int> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %3 = torch.aten.addmm %arg2, %2, %arg1, %int1, %int1 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int0 = torch.constant.int 0
    %4 = torch.aten.size.int %arg0, %int0 : !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.int
    %5 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.int
    %6 = torch.aten.size.int %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %7 = torch.prim.ListConstruct %4, %5, %6 : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %8 = torch.aten.view %3, %7 : !torch.vtensor<[?,?],bf16>, !torch.list<int> -> !torch.vtensor<[?,?,?],bf16>
    return %8 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %int3 = torch.constant.int 3
    %0 = torch.aten.size.int %arg0, %int3 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.int
    %int-1 = torch.constant.int -1
    %1 = torch.prim.ListConstruct %int-1, %0 : (!torch.int, !torch.int) -> !torch.list<int>
    %2 = torch.aten.view %arg0, %1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.list<int> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %3 = torch.aten.addmm %arg2, %2, %arg1, %int1, %int1 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int0 = torch.constant.int 0
    %4 = torch.aten.size.int %arg0, %int0 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.int
    %5 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.int
    %int2 = torch.constant.int 2
    %6 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.int
    %7 = torch.aten.size.int %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %8 = torch.prim.ListConstruct %4, %5, %6, %7 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %9 = torch.aten.view %3, %8 : !torch.vtensor<[?,?],bf16>, !torch.list<int> -> !torch.vtensor<[?,?,?,?],bf16>
    return %9 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int3 = torch.constant.int 3
    %0 = torch.aten.size.int %arg0, %int3 : !torch.vtensor<[11,13,17,?],bf16>, !torch.int -> !torch.int
    %int-1 = torch.constant.int -1
    %1 = torch.prim.ListConstruct %int-1, %0 : (!torch.int, !torch.int) -> !torch.list<int>
    %2 = torch.aten.view %arg0, %1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.list<int> -> !torch.vtensor<[2431,?],bf16>
    %int1 = torch.constant.int 1
    %3 = torch.aten.addmm %arg2, %2, %arg1, %int1, %int1 : !torch.vtensor<[?],bf16>, !torch.vtensor<[2431,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[2431,?],bf16>
    %4 = torch.aten.size.int %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %int17 = torch.constant.int 17
    %5 = torch.prim.ListConstruct %int11, %int13, %int17, %4 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %6 = torch.aten.view %3, %5 : !torch.vtensor<[2431,?],bf16>, !torch.list<int> -> !torch.vtensor<[11,13,17,?],bf16>
    return %6 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %0 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %0 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %int1 = torch.constant.int 1
    %0 = torch.aten.addmm %arg2, %arg0, %arg1, %int1, %int1 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?],bf16>
    return %0 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_nt_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %int-1 = torch.constant.int -1
    %int-2 = torch.constant.int -2
    %0 = torch.aten.transpose.int %arg1, %int-1, %int-2 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.matmul %arg0, %0 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_nt_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %int-1 = torch.constant.int -1
    %int-2 = torch.constant.int -2
    %0 = torch.aten.transpose.int %arg1, %int-1, %int-2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.matmul %arg0, %0 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_nt_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?,?],bf16> {
    %int-1 = torch.constant.int -1
    %int-2 = torch.constant.int -2
    %0 = torch.aten.transpose.int %arg1, %int-1, %int-2 : !torch.vtensor<[?,?,?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,?,?],bf16>
    %1 = torch.aten.matmul %arg0, %0 : !torch.vtensor<[?,?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_nt_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,?,?],bf16>, %arg1: !torch.vtensor<[11,?,?],bf16>) -> !torch.vtensor<[11,?,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int-1 = torch.constant.int -1
    %int-2 = torch.constant.int -2
    %0 = torch.aten.transpose.int %arg1, %int-1, %int-2 : !torch.vtensor<[11,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,?],bf16>
    %1 = torch.aten.matmul %arg0, %0 : !torch.vtensor<[11,?,?],bf16>, !torch.vtensor<[11,?,?],bf16> -> !torch.vtensor<[11,?,?],bf16>
    return %1 : !torch.vtensor<[11,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_nt_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,?],bf16>, %arg1: !torch.vtensor<[11,13,?,?],bf16>) -> !torch.vtensor<[11,13,?,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int-1 = torch.constant.int -1
    %int-2 = torch.constant.int -2
    %0 = torch.aten.transpose.int %arg1, %int-1, %int-2 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %1 = torch.aten.matmul %arg0, %0 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    return %1 : !torch.vtensor<[11,13,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_nt_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?,?],bf16>, %arg1: !torch.vtensor<[11,13,17,?,?],bf16>) -> !torch.vtensor<[11,13,17,?,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int-1 = torch.constant.int -1
    %int-2 = torch.constant.int -2
    %0 = torch.aten.transpose.int %arg1, %int-1, %int-2 : !torch.vtensor<[11,13,17,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,17,?,?],bf16>
    %1 = torch.aten.matmul %arg0, %0 : !torch.vtensor<[11,13,17,?,?],bf16>, !torch.vtensor<[11,13,17,?,?],bf16> -> !torch.vtensor<[11,13,17,?,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?,?],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,?,?],bf16>, %arg1: !torch.vtensor<[11,?,?],bf16>) -> !torch.vtensor<[11,?,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,?,?],bf16>, !torch.vtensor<[11,?,?],bf16> -> !torch.vtensor<[11,?,?],bf16>
    return %0 : !torch.vtensor<[11,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,?],bf16>, %arg1: !torch.vtensor<[11,13,?,?],bf16>) -> !torch.vtensor<[11,13,?,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    return %0 : !torch.vtensor<[11,13,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?,?],bf16>, %arg1: !torch.vtensor<[11,13,17,?,?],bf16>) -> !torch.vtensor<[11,13,17,?,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[11,13,17,?,?],bf16>, !torch.vtensor<[11,13,17,?,?],bf16> -> !torch.vtensor<[11,13,17,?,?],bf16>
    return %0 : !torch.vtensor<[11,13,17,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "batch_matmul_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.bmm %arg0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?],bf16>
  }
}
