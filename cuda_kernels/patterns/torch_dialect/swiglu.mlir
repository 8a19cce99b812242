// ["f32", "f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    %int15 = torch.constant.int 15
    %2 = torch.aten.to.dtype %1, %int15, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],bf16>
    %3 = torch.aten.mul.Tensor %2, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %3 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %2 = torch.aten.to.dtype %1, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %3 = torch.aten.mul.Tensor %2, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %3 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %1 = torch.aten.silu %0 : !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int15 = torch.constant.int 15
    %2 = torch.aten.to.dtype %1, %int15, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %3 = torch.aten.mul.Tensor %2, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %3 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.silu %arg0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.mul.Tensor %0, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %1 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.silu %arg0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.mul.Tensor %0, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.silu %arg0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.mul.Tensor %0, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %1 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %0 = torch.aten.sigmoid %arg0 : !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.mul.Tensor %arg0, %0 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %2 = torch.aten.mul.Tensor %1, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %0 = torch.aten.sigmoid %arg0 : !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.mul.Tensor %arg0, %0 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %2 = torch.aten.mul.Tensor %1, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "swiglu_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %0 = torch.aten.sigmoid %arg0 : !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.mul.Tensor %arg0, %0 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %2 = torch.aten.mul.Tensor %1, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
