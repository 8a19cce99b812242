// ["f32", "f16", "bf16"]
// {"kernel": "rotary_apart_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,64],bf16>, %arg1: !torch.vtensor<[?,1,?,64],bf16>, %arg2: !torch.vtensor<[?,1,?,64],bf16>) -> !torch.vtensor<[?,?,?,64],bf16> {
    %int3 = torch.constant.int 3
    %int32 = torch.constant.int 32
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %int1 = torch.constant.int 1
    %0 = torch.aten.slice.Tensor %arg0, %int3, %int32, %int9223372036854775807, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %1 = torch.aten.neg %0 : !torch.vtensor<[?,?,?,32],bf16> -> !torch.vtensor<[?,?,?,32],bf16>
    %int0 = torch.constant.int 0
    %2 = torch.aten.slice.Tensor %arg0, %int3, %int0, %int32, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %3 = torch.prim.ListConstruct %1, %2 : (!torch.vtensor<[?,?,?,32],bf16>, !torch.vtensor<[?,?,?,32],bf16>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %4 = torch.aten.cat %3, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %5 = torch.aten.mul.Tensor %arg0, %arg1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %6 = torch.aten.mul.Tensor %4, %arg2 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %7 = torch.aten.add.Tensor %5, %6, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    return %7 : !torch.vtensor<[?,?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "rotary_apart_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,64],bf16>, %arg1: !torch.vtensor<[1,1,?,64],bf16>, %arg2: !torch.vtensor<[1,1,?,64],bf16>) -> !torch.vtensor<[?,?,?,64],bf16> {
    %int3 = torch.constant.int 3
    %int32 = torch.constant.int 32
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %int1 = torch.constant.int 1
    %0 = torch.aten.slice.Tensor %arg0, %int3, %int32, %int9223372036854775807, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %1 = torch.aten.neg %0 : !torch.vtensor<[?,?,?,32],bf16> -> !torch.vtensor<[?,?,?,32],bf16>
    %int0 = torch.constant.int 0
    %2 = torch.aten.slice.Tensor %arg0, %int3, %int0, %int32, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %3 = torch.prim.ListConstruct %1, %2 : (!torch.vtensor<[?,?,?,32],bf16>, !torch.vtensor<[?,?,?,32],bf16>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %4 = torch.aten.cat %3, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %5 = torch.aten.mul.Tensor %arg0, %arg1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[1,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %6 = torch.aten.mul.Tensor %4, %arg2 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[1,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %7 = torch.aten.add.Tensor %5, %6, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    return %7 : !torch.vtensor<[?,?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "rotary_bshd_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,64],bf16>, %arg1: !torch.vtensor<[?,?,64],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>) -> !torch.vtensor<[?,?,?,64],bf16> {
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %0 = torch.aten.transpose.int %arg0, %int1, %int2 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %int3 = torch.constant.int 3
    %int32 = torch.constant.int 32
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %1 = torch.aten.slice.Tensor %0, %int3, %int32, %int9223372036854775807, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %2 = torch.aten.neg %1 : !torch.vtensor<[?,?,?,32],bf16> -> !torch.vtensor<[?,?,?,32],bf16>
    %int0 = torch.constant.int 0
    %3 = torch.aten.slice.Tensor %0, %int3, %int0, %int32, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %4 = torch.prim.ListConstruct %2, %3 : (!torch.vtensor<[?,?,?,32],bf16>, !torch.vtensor<[?,?,?,32],bf16>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %5 = torch.aten.cat %4, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %6 = torch.aten.unsqueeze %arg1, %int1 : !torch.vtensor<[?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,1,?,64],bf16>
    %7 = torch.aten.mul.Tensor %0, %6 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %8 = torch.aten.unsqueeze %arg2, %int1 : !torch.vtensor<[?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,1,?,64],bf16>
    %9 = torch.aten.mul.Tensor %5, %8 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %10 = torch.aten.add.Tensor %7, %9, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %11 = torch.aten.transpose.int %10, %int1, %int2 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    return %11 : !torch.vtensor<[?,?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "rotary_bshd_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,64],bf16>, %arg1: !torch.vtensor<[1,?,64],bf16>, %arg2: !torch.vtensor<[1,?,64],bf16>) -> !torch.vtensor<[?,?,?,64],bf16> {
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %0 = torch.aten.transpose.int %arg0, %int1, %int2 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %int3 = torch.constant.int 3
    %int32 = torch.constant.int 32
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %1 = torch.aten.slice.Tensor %0, %int3, %int32, %int9223372036854775807, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %2 = torch.aten.neg %1 : !torch.vtensor<[?,?,?,32],bf16> -> !torch.vtensor<[?,?,?,32],bf16>
    %int0 = torch.constant.int 0
    %3 = torch.aten.slice.Tensor %0, %int3, %int0, %int32, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %4 = torch.prim.ListConstruct %2, %3 : (!torch.vtensor<[?,?,?,32],bf16>, !torch.vtensor<[?,?,?,32],bf16>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %5 = torch.aten.cat %4, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %6 = torch.aten.unsqueeze %arg1, %int1 : !torch.vtensor<[1,?,64],bf16>, !torch.int -> !torch.vtensor<[1,1,?,64],bf16>
    %7 = torch.aten.mul.Tensor %0, %6 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[1,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %8 = torch.aten.unsqueeze %arg2, %int1 : !torch.vtensor<[1,?,64],bf16>, !torch.int -> !torch.vtensor<[1,1,?,64],bf16>
    %9 = torch.aten.mul.Tensor %5, %8 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[1,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %10 = torch.aten.add.Tensor %7, %9, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %11 = torch.aten.transpose.int %10, %int1, %int2 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    return %11 : !torch.vtensor<[?,?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "rotary_by_position_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,64],bf16>, %arg1: !torch.vtensor<[?,?,64],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>) -> !torch.vtensor<[?,?,?,64],bf16> {
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %0 = torch.aten.transpose.int %arg0, %int1, %int2 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %int3 = torch.constant.int 3
    %int32 = torch.constant.int 32
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %1 = torch.aten.slice.Tensor %0, %int3, %int32, %int9223372036854775807, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %2 = torch.aten.neg %1 : !torch.vtensor<[?,?,?,32],bf16> -> !torch.vtensor<[?,?,?,32],bf16>
    %int0 = torch.constant.int 0
    %3 = torch.aten.slice.Tensor %0, %int3, %int0, %int32, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %4 = torch.prim.ListConstruct %2, %3 : (!torch.vtensor<[?,?,?,32],bf16>, !torch.vtensor<[?,?,?,32],bf16>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %5 = torch.aten.cat %4, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %6 = torch.aten.unsqueeze %arg1, %int1 : !torch.vtensor<[?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,1,?,64],bf16>
    %7 = torch.aten.mul.Tensor %0, %6 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %8 = torch.aten.unsqueeze %arg2, %int1 : !torch.vtensor<[?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,1,?,64],bf16>
    %9 = torch.aten.mul.Tensor %5, %8 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %10 = torch.aten.add.Tensor %7, %9, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    return %10 : !torch.vtensor<[?,?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "rotary_by_position_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,64],bf16>, %arg1: !torch.vtensor<[1,?,64],bf16>, %arg2: !torch.vtensor<[1,?,64],bf16>) -> !torch.vtensor<[?,?,?,64],bf16> {
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %0 = torch.aten.transpose.int %arg0, %int1, %int2 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %int3 = torch.constant.int 3
    %int32 = torch.constant.int 32
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %1 = torch.aten.slice.Tensor %0, %int3, %int32, %int9223372036854775807, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %2 = torch.aten.neg %1 : !torch.vtensor<[?,?,?,32],bf16> -> !torch.vtensor<[?,?,?,32],bf16>
    %int0 = torch.constant.int 0
    %3 = torch.aten.slice.Tensor %0, %int3, %int0, %int32, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %4 = torch.prim.ListConstruct %2, %3 : (!torch.vtensor<[?,?,?,32],bf16>, !torch.vtensor<[?,?,?,32],bf16>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %5 = torch.aten.cat %4, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %6 = torch.aten.unsqueeze %arg1, %int1 : !torch.vtensor<[1,?,64],bf16>, !torch.int -> !torch.vtensor<[1,1,?,64],bf16>
    %7 = torch.aten.mul.Tensor %0, %6 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[1,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %8 = torch.aten.unsqueeze %arg2, %int1 : !torch.vtensor<[1,?,64],bf16>, !torch.int -> !torch.vtensor<[1,1,?,64],bf16>
    %9 = torch.aten.mul.Tensor %5, %8 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[1,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %10 = torch.aten.add.Tensor %7, %9, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    return %10 : !torch.vtensor<[?,?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "rotary_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,64],bf16>, %arg1: !torch.vtensor<[?,?,64],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>) -> !torch.vtensor<[?,?,?,64],bf16> {
    %int3 = torch.constant.int 3
    %int32 = torch.constant.int 32
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %int1 = torch.constant.int 1
    %0 = torch.aten.slice.Tensor %arg0, %int3, %int32, %int9223372036854775807, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %1 = torch.aten.neg %0 : !torch.vtensor<[?,?,?,32],bf16> -> !torch.vtensor<[?,?,?,32],bf16>
    %int0 = torch.constant.int 0
    %2 = torch.aten.slice.Tensor %arg0, %int3, %int0, %int32, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %3 = torch.prim.ListConstruct %1, %2 : (!torch.vtensor<[?,?,?,32],bf16>, !torch.vtensor<[?,?,?,32],bf16>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %4 = torch.aten.cat %3, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %5 = torch.aten.unsqueeze %arg1, %int1 : !torch.vtensor<[?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,1,?,64],bf16>
    %6 = torch.aten.mul.Tensor %arg0, %5 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %7 = torch.aten.unsqueeze %arg2, %int1 : !torch.vtensor<[?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,1,?,64],bf16>
    %8 = torch.aten.mul.Tensor %4, %7 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %9 = torch.aten.add.Tensor %6, %8, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    return %9 : !torch.vtensor<[?,?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "rotary_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,64],bf16>, %arg1: !torch.vtensor<[1,?,64],bf16>, %arg2: !torch.vtensor<[1,?,64],bf16>) -> !torch.vtensor<[?,?,?,64],bf16> {
    %int3 = torch.constant.int 3
    %int32 = torch.constant.int 32
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %int1 = torch.constant.int 1
    %0 = torch.aten.slice.Tensor %arg0, %int3, %int32, %int9223372036854775807, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %1 = torch.aten.neg %0 : !torch.vtensor<[?,?,?,32],bf16> -> !torch.vtensor<[?,?,?,32],bf16>
    %int0 = torch.constant.int 0
    %2 = torch.aten.slice.Tensor %arg0, %int3, %int0, %int32, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,?,?,32],bf16>
    %3 = torch.prim.ListConstruct %1, %2 : (!torch.vtensor<[?,?,?,32],bf16>, !torch.vtensor<[?,?,?,32],bf16>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %4 = torch.aten.cat %3, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    %5 = torch.aten.unsqueeze %arg1, %int1 : !torch.vtensor<[1,?,64],bf16>, !torch.int -> !torch.vtensor<[1,1,?,64],bf16>
    %6 = torch.aten.mul.Tensor %arg0, %5 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[1,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %7 = torch.aten.unsqueeze %arg2, %int1 : !torch.vtensor<[1,?,64],bf16>, !torch.int -> !torch.vtensor<[1,1,?,64],bf16>
    %8 = torch.aten.mul.Tensor %4, %7 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[1,1,?,64],bf16> -> !torch.vtensor<[?,?,?,64],bf16>
    %9 = torch.aten.add.Tensor %6, %8, %int1 : !torch.vtensor<[?,?,?,64],bf16>, !torch.vtensor<[?,?,?,64],bf16>, !torch.int -> !torch.vtensor<[?,?,?,64],bf16>
    return %9 : !torch.vtensor<[?,?,?,64],bf16>
  }
}
