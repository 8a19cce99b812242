// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> !torch.vtensor<[?,?],bf16> {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
    %int1 = torch.constant.int 1
    %1 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %2 = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %3 = torch.aten.layer_norm %0, %2, %none, %none, %arg3, %true : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?],f32>
    %int15 = torch.constant.int 15
    %4 = torch.aten.to.dtype %3, %int15, %false, %false, %none : !torch.vtensor<[?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?],bf16>
    %5 = torch.aten.mul.Tensor %4, %arg1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?],bf16>
    %6 = torch.aten.add.Tensor %5, %arg2, %int1 : !torch.vtensor<[?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?],bf16>
    return %6 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> !torch.vtensor<[?,?,?],bf16> {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],f32>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.int
    %2 = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %3 = torch.aten.layer_norm %0, %2, %none, %none, %arg3, %true : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %4 = torch.aten.to.dtype %3, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %5 = torch.aten.mul.Tensor %4, %arg1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %6 = torch.aten.add.Tensor %5, %arg2, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    return %6 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> !torch.vtensor<[?,?,?,?],bf16> {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],f32>
    %int3 = torch.constant.int 3
    %1 = torch.aten.size.int %arg0, %int3 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.int
    %2 = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %3 = torch.aten.layer_norm %0, %2, %none, %none, %arg3, %true : !torch.vtensor<[?,?,?,?],f32>, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?,?,?],f32>
    %int15 = torch.constant.int 15
    %4 = torch.aten.to.dtype %3, %int15, %false, %false, %none : !torch.vtensor<[?,?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    %5 = torch.aten.mul.Tensor %4, %arg1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?],bf16> -> !torch.vtensor<[?,?,?,?],bf16>
    %int1 = torch.constant.int 1
    %6 = torch.aten.add.Tensor %5, %arg2, %int1 : !torch.vtensor<[?,?,?,?],bf16>, !torch.vtensor<[?],bf16>, !torch.int -> !torch.vtensor<[?,?,?,?],bf16>
    return %6 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> !torch.vtensor<[?,?],bf16> {
    %int1 = torch.constant.int 1
    %0 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %arg1, %arg2, %arg3, %true : !torch.vtensor<[?,?],bf16>, !torch.list<int>, !torch.vtensor<[?],bf16>, !torch.vtensor<[?],bf16>, !torch.float, !torch.bool -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> !torch.vtensor<[?,?,?],bf16> {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %arg1, %arg2, %arg3, %true : !torch.vtensor<[?,?,?],bf16>, !torch.list<int>, !torch.vtensor<[?],bf16>, !torch.vtensor<[?],bf16>, !torch.float, !torch.bool -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.vtensor<[?],bf16>, %arg3: !torch.float) -> !torch.vtensor<[?,?,?,?],bf16> {
    %int3 = torch.constant.int 3
    %0 = torch.aten.size.int %arg0, %int3 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %arg1, %arg2, %arg3, %true : !torch.vtensor<[?,?,?,?],bf16>, !torch.list<int>, !torch.vtensor<[?],bf16>, !torch.vtensor<[?],bf16>, !torch.float, !torch.bool -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.float) -> !torch.vtensor<[?,?],bf16> {
    %int1 = torch.constant.int 1
    %0 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %none = torch.constant.none
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %arg1, %none, %arg2, %true : !torch.vtensor<[?,?],bf16>, !torch.list<int>, !torch.vtensor<[?],bf16>, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.float) -> !torch.vtensor<[?,?,?],bf16> {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %none = torch.constant.none
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %arg1, %none, %arg2, %true : !torch.vtensor<[?,?,?],bf16>, !torch.list<int>, !torch.vtensor<[?],bf16>, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.vtensor<[?],bf16>, %arg2: !torch.float) -> !torch.vtensor<[?,?,?,?],bf16> {
    %int3 = torch.constant.int 3
    %0 = torch.aten.size.int %arg0, %int3 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %none = torch.constant.none
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %arg1, %none, %arg2, %true : !torch.vtensor<[?,?,?,?],bf16>, !torch.list<int>, !torch.vtensor<[?],bf16>, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>, %arg1: !torch.float) -> !torch.vtensor<[?,?],bf16> {
    %int1 = torch.constant.int 1
    %0 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %none = torch.constant.none
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %none, %none, %arg1, %true : !torch.vtensor<[?,?],bf16>, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?],bf16>
    return %2 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>, %arg1: !torch.float) -> !torch.vtensor<[?,?,?],bf16> {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %none = torch.constant.none
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %none, %none, %arg1, %true : !torch.vtensor<[?,?,?],bf16>, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "layer_norm_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>, %arg1: !torch.float) -> !torch.vtensor<[?,?,?,?],bf16> {
    %int3 = torch.constant.int 3
    %0 = torch.aten.size.int %arg0, %int3 : !torch.vtensor<[?,?,?,?],bf16>, !torch.int -> !torch.int
    %1 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
    %none = torch.constant.none
    %true = torch.constant.bool true
    %2 = torch.aten.layer_norm %arg0, %1, %none, %none, %arg1, %true : !torch.vtensor<[?,?,?,?],bf16>, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[?,?,?,?],bf16>
    return %2 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
