// ["f16", "bf16"]
// {"kernel": "linear_swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %2 = torch.aten.linear %arg0, %arg2, %none : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?],bf16>
    %3 = torch.aten.mul.Tensor %1, %2 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %3 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "linear_swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %2 = torch.aten.linear %arg0, %arg2, %none : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %3 = torch.aten.mul.Tensor %1, %2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %3 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "linear_swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %2 = torch.aten.linear %arg0, %arg2, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %3 = torch.aten.mul.Tensor %1, %2 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %3 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "linear_swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,17,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[11,13,17,?],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %0 = torch.aten.linear %arg0, %arg1, %none : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[11,13,17,?],bf16>
    %1 = torch.aten.silu %0 : !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    %2 = torch.aten.linear %arg0, %arg2, %none : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.none -> !torch.vtensor<[11,13,17,?],bf16>
    %3 = torch.aten.mul.Tensor %1, %2 : !torch.vtensor<[11,13,17,?],bf16>, !torch.vtensor<[11,13,17,?],bf16> -> !torch.vtensor<[11,13,17,?],bf16>
    return %3 : !torch.vtensor<[11,13,17,?],bf16>
  }
}
