// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %arg3, %0, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %arg3, %0, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %arg3, %0, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[11,13,17,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %arg3, %0, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[11,13,17,?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_relu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[11,13,17,?],bf16>
    %1 = torch.aten.relu %0 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_silu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[11,13,17,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[11,13,17,?],bf16>, !torch.str -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_erf_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[11,13,17,?],bf16>
    %str = torch.constant.str "none"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[11,13,17,?],bf16>, !torch.str -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[11,13,17,?],bf16>, !torch.str -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?],bf16>, !torch.str -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[?,?,?,?],bf16>, !torch.str -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_gelu_tanh_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[11,13,17,?],bf16>
    %str = torch.constant.str "tanh"
    %1 = torch.aten.gelu %0, %str : !torch.vtensor<[11,13,17,?],bf16>, !torch.str -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg3, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg3, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg3, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.vtensor<[11,13,17,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg3, %int1 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[11,13,17,?],bf16>, !torch.int -> !torch.vtensor<[11,13,17,?],bf16>
    return %1 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %0 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %0 = torch.aten.linear %arg0, %arg1, %arg2 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %0 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?],bf16>
    return %0 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "linear_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[11,13,17,?],bf16>
    return %0 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
