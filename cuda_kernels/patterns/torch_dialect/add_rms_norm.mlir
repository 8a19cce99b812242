// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %int15 = torch.constant.int 15
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],bf16>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int15 = torch.constant.int 15
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?],f32>
    %2 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %3 = torch.aten.mul.Tensor %2, %2 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %4 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %5 = torch.aten.mean.dim %3, %4, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.add.Scalar %5, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.rsqrt %6 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %8 = torch.aten.mul.Tensor %2, %7 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %9 = torch.aten.mul.Tensor %1, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    %int15 = torch.constant.int 15
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],bf16>
    return %0, %10 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?],f32>
    %2 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %3 = torch.aten.mul.Tensor %2, %2 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %4 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %5 = torch.aten.mean.dim %3, %4, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.add.Scalar %5, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.rsqrt %6 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %8 = torch.aten.mul.Tensor %2, %7 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %9 = torch.aten.mul.Tensor %1, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    return %0, %10 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?],f32>
    %2 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %3 = torch.aten.mul.Tensor %2, %2 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %4 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %5 = torch.aten.mean.dim %3, %4, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.add.Scalar %5, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.rsqrt %6 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %8 = torch.aten.mul.Tensor %2, %7 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %9 = torch.aten.mul.Tensor %1, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int15 = torch.constant.int 15
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    return %0, %10 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],f32>
    %int15 = torch.constant.int 15
    %9 = torch.aten.to.dtype %8, %int15, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %9 = torch.aten.to.dtype %8, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],f32>
    %int15 = torch.constant.int 15
    %9 = torch.aten.to.dtype %8, %int15, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %1 = torch.aten.mul.Tensor %0, %0 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    %int-1 = torch.constant.int -1
    %2 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %none = torch.constant.none
    %3 = torch.aten.mean.dim %1, %2, %true, %none : !torch.vtensor<[?,?],bf16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],bf16>
    %4 = torch.aten.add.Scalar %3, %arg3, %int1 : !torch.vtensor<[?,1],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,1],bf16>
    %5 = torch.aten.rsqrt %4 : !torch.vtensor<[?,1],bf16> -> !torch.vtensor<[?,1],bf16>
    %6 = torch.aten.mul.Tensor %0, %5 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,1],bf16> -> !torch.vtensor<[?,?],bf16>
    %7 = torch.aten.mul.Tensor %arg2, %6 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %0, %7 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.mul.Tensor %0, %0 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %2 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %none = torch.constant.none
    %3 = torch.aten.mean.dim %1, %2, %true, %none : !torch.vtensor<[?,?,?],bf16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],bf16>
    %4 = torch.aten.add.Scalar %3, %arg3, %int1 : !torch.vtensor<[?,?,1],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],bf16>
    %5 = torch.aten.rsqrt %4 : !torch.vtensor<[?,?,1],bf16> -> !torch.vtensor<[?,?,1],bf16>
    %6 = torch.aten.mul.Tensor %0, %5 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,1],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %7 = torch.aten.mul.Tensor %arg2, %6 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %0, %7 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %1 = torch.aten.mul.Tensor %0, %0 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %2 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %none = torch.constant.none
    %3 = torch.aten.mean.dim %1, %2, %true, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],bf16>
    %4 = torch.aten.add.Scalar %3, %arg3, %int1 : !torch.vtensor<[?,?,?,1],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],bf16>
    %5 = torch.aten.rsqrt %4 : !torch.vtensor<[?,?,?,1],bf16> -> !torch.vtensor<[?,?,?,1],bf16>
    %6 = torch.aten.mul.Tensor %0, %5 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,1],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %7 = torch.aten.mul.Tensor %arg2, %6 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %0, %7 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?],f32>, !torch.float -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %int15 = torch.constant.int 15
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],bf16>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int15 = torch.constant.int 15
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?],f32>
    %2 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %3 = torch.aten.pow.Tensor_Scalar %2, %float2.000000e00 : !torch.vtensor<[?,?],f32>, !torch.float -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %4 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %5 = torch.aten.mean.dim %3, %4, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.add.Scalar %5, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.rsqrt %6 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %8 = torch.aten.mul.Tensor %2, %7 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %9 = torch.aten.mul.Tensor %1, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    %int15 = torch.constant.int 15
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],bf16>
    return %0, %10 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?],f32>
    %2 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %3 = torch.aten.pow.Tensor_Scalar %2, %float2.000000e00 : !torch.vtensor<[?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %4 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %5 = torch.aten.mean.dim %3, %4, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.add.Scalar %5, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.rsqrt %6 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %8 = torch.aten.mul.Tensor %2, %7 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %9 = torch.aten.mul.Tensor %1, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    return %0, %10 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?],f32>
    %2 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %3 = torch.aten.pow.Tensor_Scalar %2, %float2.000000e00 : !torch.vtensor<[?,?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %4 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %5 = torch.aten.mean.dim %3, %4, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.add.Scalar %5, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.rsqrt %6 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %8 = torch.aten.mul.Tensor %2, %7 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %9 = torch.aten.mul.Tensor %1, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int15 = torch.constant.int 15
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    return %0, %10 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?],f32>, !torch.float -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],f32>
    %int15 = torch.constant.int 15
    %9 = torch.aten.to.dtype %8, %int15, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %9 = torch.aten.to.dtype %8, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],f32>
    %int15 = torch.constant.int 15
    %9 = torch.aten.to.dtype %8, %int15, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    return %0, %9 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %1 = torch.aten.pow.Tensor_Scalar %0, %float2.000000e00 : !torch.vtensor<[?,?],bf16>, !torch.float -> !torch.vtensor<[?,?],bf16>
    %int-1 = torch.constant.int -1
    %2 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %none = torch.constant.none
    %3 = torch.aten.mean.dim %1, %2, %true, %none : !torch.vtensor<[?,?],bf16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],bf16>
    %4 = torch.aten.add.Scalar %3, %arg3, %int1 : !torch.vtensor<[?,1],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,1],bf16>
    %5 = torch.aten.rsqrt %4 : !torch.vtensor<[?,1],bf16> -> !torch.vtensor<[?,1],bf16>
    %6 = torch.aten.mul.Tensor %0, %5 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,1],bf16> -> !torch.vtensor<[?,?],bf16>
    %7 = torch.aten.mul.Tensor %arg2, %6 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?],bf16> -> !torch.vtensor<[?,?],bf16>
    return %0, %7 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %1 = torch.aten.pow.Tensor_Scalar %0, %float2.000000e00 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %2 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %none = torch.constant.none
    %3 = torch.aten.mean.dim %1, %2, %true, %none : !torch.vtensor<[?,?,?],bf16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],bf16>
    %4 = torch.aten.add.Scalar %3, %arg3, %int1 : !torch.vtensor<[?,?,1],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],bf16>
    %5 = torch.aten.rsqrt %4 : !torch.vtensor<[?,?,1],bf16> -> !torch.vtensor<[?,?,1],bf16>
    %6 = torch.aten.mul.Tensor %0, %5 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,1],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %7 = torch.aten.mul.Tensor %arg2, %6 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    return %0, %7 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "add_rms_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?,?,?,?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %1 = torch.aten.pow.Tensor_Scalar %0, %float2.000000e00 : !torch.vtensor<[?,?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %2 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %none = torch.constant.none
    %3 = torch.aten.mean.dim %1, %2, %true, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],bf16>
    %4 = torch.aten.add.Scalar %3, %arg3, %int1 : !torch.vtensor<[?,?,?,1],bf16>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],bf16>
    %5 = torch.aten.rsqrt %4 : !torch.vtensor<[?,?,?,1],bf16> -> !torch.vtensor<[?,?,?,1],bf16>
    %6 = torch.aten.mul.Tensor %0, %5 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,1],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %7 = torch.aten.mul.Tensor %arg2, %6 : !torch.vtensor<[?],bf16>, !torch.vtensor<[?,?,?,?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    return %0, %7 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],f32>, %arg1: !torch.vtensor<[?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.int -> !torch.vtensor<[?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %8 = torch.aten.to.dtype %7, %int6, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],f32>, %arg1: !torch.vtensor<[?,?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %8 = torch.aten.to.dtype %7, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],f32>, %arg1: !torch.vtensor<[?,?,?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>, !torch.int -> !torch.vtensor<[?,?,?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %8 = torch.aten.to.dtype %7, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],f32>, %arg1: !torch.vtensor<[?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.int -> !torch.vtensor<[?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?],f32>
    %9 = torch.aten.to.dtype %8, %int6, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],f32>, %arg1: !torch.vtensor<[?,?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?,?],f32>
    %9 = torch.aten.to.dtype %8, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],f32>, %arg1: !torch.vtensor<[?,?,?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>, !torch.int -> !torch.vtensor<[?,?,?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %9 = torch.aten.to.dtype %8, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],f32>, %arg1: !torch.vtensor<[?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.int -> !torch.vtensor<[?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?],f32>, !torch.float -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %8 = torch.aten.to.dtype %7, %int6, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],f32>, %arg1: !torch.vtensor<[?,?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %8 = torch.aten.to.dtype %7, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?,?],f32> -> !torch.vtensor<[?,?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],f32>, %arg1: !torch.vtensor<[?,?,?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>, !torch.int -> !torch.vtensor<[?,?,?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %8 = torch.aten.to.dtype %7, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %9 = torch.aten.mul.Tensor %arg2, %8 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?,?,?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],f32>, %arg1: !torch.vtensor<[?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.int -> !torch.vtensor<[?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?],f32>, !torch.float -> !torch.vtensor<[?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,1],f32> -> !torch.vtensor<[?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?],f32>
    %9 = torch.aten.to.dtype %8, %int6, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],f32>, %arg1: !torch.vtensor<[?,?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,1],f32> -> !torch.vtensor<[?,?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?,?],f32>
    %9 = torch.aten.to.dtype %8, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?,?],f32>, !torch.vtensor<[?,?,?],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "add_rms_norm_f32", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],f32>, %arg1: !torch.vtensor<[?,?,?,?],f32>, %arg2: !torch.vtensor<[?],f32>, %arg3: !torch.float) -> (!torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %arg0, %arg1, %int1 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>, !torch.int -> !torch.vtensor<[?,?,?,?],f32>
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %2 = torch.aten.pow.Tensor_Scalar %1, %float2.000000e00 : !torch.vtensor<[?,?,?,?],f32>, !torch.float -> !torch.vtensor<[?,?,?,?],f32>
    %int-1 = torch.constant.int -1
    %3 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %4 = torch.aten.mean.dim %2, %3, %true, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,1],f32>
    %5 = torch.aten.add.Scalar %4, %arg3, %int1 : !torch.vtensor<[?,?,?,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[?,?,?,1],f32>
    %6 = torch.aten.rsqrt %5 : !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,1],f32>
    %7 = torch.aten.mul.Tensor %1, %6 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,1],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %8 = torch.aten.mul.Tensor %7, %arg2 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?,?,?],f32>
    %9 = torch.aten.to.dtype %8, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    return %1, %9 : !torch.vtensor<[?,?,?,?],f32>, !torch.vtensor<[?,?,?,?],f32>
  }
}
