// ["f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"causal": true, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %1 = torch.aten.to.dtype %arg1, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %float3.535530e-01 = torch.constant.float 0.35355339059327379
    %3 = torch.aten.mul.Scalar %0, %float3.535530e-01 : !torch.vtensor<[11,13,?,64],f32>, !torch.float -> !torch.vtensor<[11,13,?,64],f32>
    %int-2 = torch.constant.int -2
    %int-1 = torch.constant.int -1
    %4 = torch.aten.transpose.int %1, %int-2, %int-1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[11,13,64,?],f32>
    %5 = torch.aten.mul.Scalar %4, %float3.535530e-01 : !torch.vtensor<[11,13,64,?],f32>, !torch.float -> !torch.vtensor<[11,13,64,?],f32>
    %6 = torch.aten.matmul %3, %5 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %int2 = torch.constant.int 2
    %7 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %cpu = torch.constant.device "cpu"
    %8 = torch.aten.arange %7, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %9 = torch.aten.unsqueeze %8, %int-2 : !torch.vtensor<[?],si64>, !torch.int -> !torch.vtensor<[1,?],si64>
    %10 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %11 = torch.aten.arange %10, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %12 = torch.aten.unsqueeze %11, %int-1 : !torch.vtensor<[?],si64>, !torch.int -> !torch.vtensor<[?,1],si64>
    %int1 = torch.constant.int 1
    %13 = torch.aten.sub.Tensor %9, %12, %int1 : !torch.vtensor<[1,?],si64>, !torch.vtensor<[?,1],si64>, !torch.int -> !torch.vtensor<[?,?],si64>
    %int0 = torch.constant.int 0
    %14 = torch.aten.le.Scalar %13, %int0 : !torch.vtensor<[?,?],si64>, !torch.int -> !torch.vtensor<[?,?],i1>
    %15 = torch.prim.ListConstruct %10, %7 : (!torch.int, !torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %16 = torch.aten.Int.bool %true : !torch.bool -> !torch.int
    %int11 = torch.constant.int 11
    %17 = torch.aten.full %15, %16, %int11, %none, %cpu, %false : !torch.list<int>, !torch.int, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?,?],i1>
    %18 = torch.aten.logical_and %14, %17 : !torch.vtensor<[?,?],i1>, !torch.vtensor<[?,?],i1> -> !torch.vtensor<[?,?],i1>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %19 = torch.aten.scalar_tensor %float0.000000e00, %none, %none, %cpu, %false : !torch.float, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %20 = torch.aten.scalar_tensor %float-Inf, %none, %none, %cpu, %false : !torch.float, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],f32>
    %21 = torch.aten.where.self %18, %19, %20 : !torch.vtensor<[?,?],i1>, !torch.vtensor<[],f32>, !torch.vtensor<[],f32> -> !torch.vtensor<[?,?],f32>
    %22 = torch.aten.add.Tensor %6, %21, %int1 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %23 = torch.aten.softmax.int %22, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %24 = torch.aten.eq.Scalar %22, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %25 = torch.aten.logical_not %24 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %26 = torch.aten.any.dim %25, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %27 = torch.aten.full_like %23, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %28 = torch.aten.logical_not %26 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %29 = torch.aten.where.self %28, %27, %23 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %30 = torch.aten.matmul %29, %2 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %int15 = torch.constant.int 15
    %31 = torch.aten.to.dtype %30, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],bf16>
    return %31 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %1 = torch.aten.to.dtype %arg1, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %float3.535530e-01 = torch.constant.float 0.35355339059327379
    %3 = torch.aten.mul.Scalar %0, %float3.535530e-01 : !torch.vtensor<[11,13,?,64],f32>, !torch.float -> !torch.vtensor<[11,13,?,64],f32>
    %int-2 = torch.constant.int -2
    %int-1 = torch.constant.int -1
    %4 = torch.aten.transpose.int %1, %int-2, %int-1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[11,13,64,?],f32>
    %5 = torch.aten.mul.Scalar %4, %float3.535530e-01 : !torch.vtensor<[11,13,64,?],f32>, !torch.float -> !torch.vtensor<[11,13,64,?],f32>
    %6 = torch.aten.matmul %3, %5 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %7 = torch.aten.softmax.int %6, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %8 = torch.aten.eq.Scalar %6, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %9 = torch.aten.logical_not %8 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %true = torch.constant.bool true
    %10 = torch.aten.any.dim %9, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %int0 = torch.constant.int 0
    %11 = torch.aten.full_like %7, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %12 = torch.aten.logical_not %10 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %13 = torch.aten.where.self %12, %11, %7 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %14 = torch.aten.matmul %13, %2 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %int15 = torch.constant.int 15
    %15 = torch.aten.to.dtype %14, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],bf16>
    return %15 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,1,?],bf16>) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %1 = torch.aten.to.dtype %arg1, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %float3.535530e-01 = torch.constant.float 0.35355339059327379
    %3 = torch.aten.mul.Scalar %0, %float3.535530e-01 : !torch.vtensor<[11,13,?,64],f32>, !torch.float -> !torch.vtensor<[11,13,?,64],f32>
    %int-2 = torch.constant.int -2
    %int-1 = torch.constant.int -1
    %4 = torch.aten.transpose.int %1, %int-2, %int-1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[11,13,64,?],f32>
    %5 = torch.aten.mul.Scalar %4, %float3.535530e-01 : !torch.vtensor<[11,13,64,?],f32>, !torch.float -> !torch.vtensor<[11,13,64,?],f32>
    %6 = torch.aten.matmul %3, %5 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %8 = torch.aten.softmax.int %7, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %9 = torch.aten.eq.Scalar %7, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %10 = torch.aten.logical_not %9 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %true = torch.constant.bool true
    %11 = torch.aten.any.dim %10, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %int0 = torch.constant.int 0
    %12 = torch.aten.full_like %8, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %13 = torch.aten.logical_not %11 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %14 = torch.aten.where.self %13, %12, %8 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %15 = torch.aten.matmul %14, %2 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %int15 = torch.constant.int 15
    %16 = torch.aten.to.dtype %15, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],bf16>
    return %16 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int6 = torch.constant.int 6
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.to.dtype %arg0, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %1 = torch.aten.to.dtype %arg1, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.to.dtype %arg2, %int6, %false, %false, %none : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],f32>
    %float3.535530e-01 = torch.constant.float 0.35355339059327379
    %3 = torch.aten.mul.Scalar %0, %float3.535530e-01 : !torch.vtensor<[11,13,?,64],f32>, !torch.float -> !torch.vtensor<[11,13,?,64],f32>
    %int-2 = torch.constant.int -2
    %int-1 = torch.constant.int -1
    %4 = torch.aten.transpose.int %1, %int-2, %int-1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[11,13,64,?],f32>
    %5 = torch.aten.mul.Scalar %4, %float3.535530e-01 : !torch.vtensor<[11,13,64,?],f32>, !torch.float -> !torch.vtensor<[11,13,64,?],f32>
    %6 = torch.aten.matmul %3, %5 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %8 = torch.aten.softmax.int %7, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %9 = torch.aten.eq.Scalar %7, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %10 = torch.aten.logical_not %9 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %true = torch.constant.bool true
    %11 = torch.aten.any.dim %10, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %int0 = torch.constant.int 0
    %12 = torch.aten.full_like %8, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %13 = torch.aten.logical_not %11 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %14 = torch.aten.where.self %13, %12, %8 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %15 = torch.aten.matmul %14, %2 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %int15 = torch.constant.int 15
    %16 = torch.aten.to.dtype %15, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,64],bf16>
    return %16 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>, %arg3: !torch.vtensor<[?,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.mul.Scalar %0, %arg4 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %1, %arg3, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %3 = torch.aten.softmax.int %2, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %4 = torch.aten.to.dtype %3, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %5 = torch.aten.matmul %4, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %5 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>, %arg3: !torch.vtensor<[?,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %2 = torch.aten.full %1, %arg4, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %3 = torch.aten.mul.Tensor %0, %2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %5 = torch.aten.softmax.int %4, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %6 = torch.aten.to.dtype %5, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %7 = torch.aten.matmul %6, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %7 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>, %arg3: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %1 = torch.aten.div.Scalar %0, %float8.000000e00 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %1, %arg3, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %3 = torch.aten.softmax.int %2, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %4 = torch.aten.to.dtype %3, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %5 = torch.aten.matmul %4, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %5 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>, %arg3: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %2 = torch.aten.full %1, %float8.000000e00, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %3 = torch.aten.div.Tensor %0, %2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %5 = torch.aten.softmax.int %4, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %6 = torch.aten.to.dtype %5, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %7 = torch.aten.matmul %6, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %7 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>, %arg3: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg3, %int1 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,?],bf16>, !torch.int -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %2 = torch.aten.softmax.int %1, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %3 = torch.aten.to.dtype %2, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %4 = torch.aten.matmul %3, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %4 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.aten.mul.Scalar %0, %arg3 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %2 = torch.aten.softmax.int %1, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %3 = torch.aten.to.dtype %2, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %4 = torch.aten.matmul %3, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %4 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %2 = torch.aten.full %1, %arg3, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %3 = torch.aten.mul.Tensor %0, %2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %4 = torch.aten.softmax.int %3, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %5 = torch.aten.to.dtype %4, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %6 = torch.aten.matmul %5, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %6 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %1 = torch.aten.div.Scalar %0, %float8.000000e00 : !torch.vtensor<[?,?,?],bf16>, !torch.float -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %2 = torch.aten.softmax.int %1, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %3 = torch.aten.to.dtype %2, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %4 = torch.aten.matmul %3, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %4 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %1 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %2 = torch.aten.full %1, %float8.000000e00, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %3 = torch.aten.div.Tensor %0, %2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %4 = torch.aten.softmax.int %3, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %5 = torch.aten.to.dtype %4, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %6 = torch.aten.matmul %5, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %6 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,64],bf16>, %arg1: !torch.vtensor<[?,64,?],bf16>, %arg2: !torch.vtensor<[?,?,64],bf16>) -> !torch.vtensor<[?,?,64],bf16> {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,?,64],bf16>, !torch.vtensor<[?,64,?],bf16> -> !torch.vtensor<[?,?,?],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %1 = torch.aten.softmax.int %0, %int-1, %int6 : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[?,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %2 = torch.aten.to.dtype %1, %int15, %false, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    %3 = torch.aten.matmul %2, %arg2 : !torch.vtensor<[?,?,?],bf16>, !torch.vtensor<[?,?,64],bf16> -> !torch.vtensor<[?,?,64],bf16>
    return %3 : !torch.vtensor<[?,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.aten.mul.Scalar %3, %arg3 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %6 = torch.aten.softmax.int %4, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %7 = torch.aten.to.dtype %6, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.matmul %7, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %9 = torch.aten.flatten.using_ints %8, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %9 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %arg3, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.mul.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %7 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %8 = torch.aten.softmax.int %6, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %9 = torch.aten.to.dtype %8, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %10 = torch.aten.matmul %9, %7 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %11 = torch.aten.flatten.using_ints %10, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %11 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %4 = torch.aten.div.Scalar %3, %float8.000000e00 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %6 = torch.aten.softmax.int %4, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %7 = torch.aten.to.dtype %6, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.matmul %7, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %9 = torch.aten.flatten.using_ints %8, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %9 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %float8.000000e00, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.div.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %7 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %8 = torch.aten.softmax.int %6, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %9 = torch.aten.to.dtype %8, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %10 = torch.aten.matmul %9, %7 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %11 = torch.aten.flatten.using_ints %10, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %11 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_attention_bf16_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %5 = torch.aten.softmax.int %3, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %6 = torch.aten.to.dtype %5, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %7 = torch.aten.matmul %6, %4 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %8 = torch.aten.flatten.using_ints %7, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %8 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.aten.mul.Scalar %3, %arg4 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %5 = torch.aten.add.Tensor %4, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %6 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %7 = torch.aten.softmax.int %5, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %9 = torch.aten.matmul %8, %6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %10 = torch.aten.flatten.using_ints %9, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %10 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %arg4, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.mul.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %9 = torch.aten.softmax.int %7, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %11 = torch.aten.matmul %10, %8 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %12 = torch.aten.flatten.using_ints %11, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %12 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %4 = torch.aten.div.Scalar %3, %float8.000000e00 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %5 = torch.aten.add.Tensor %4, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %6 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %7 = torch.aten.softmax.int %5, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %9 = torch.aten.matmul %8, %6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %10 = torch.aten.flatten.using_ints %9, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %10 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %float8.000000e00, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.div.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %9 = torch.aten.softmax.int %7, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %11 = torch.aten.matmul %10, %8 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %12 = torch.aten.flatten.using_ints %11, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %12 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %6 = torch.aten.softmax.int %4, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %7 = torch.aten.to.dtype %6, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.matmul %7, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %9 = torch.aten.flatten.using_ints %8, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %9 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.aten.mul.Scalar %3, %arg4 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %5 = torch.aten.add.Tensor %4, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %6 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %7 = torch.aten.softmax.int %5, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %9 = torch.aten.matmul %8, %6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %10 = torch.aten.flatten.using_ints %9, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %10 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %arg4, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.mul.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %9 = torch.aten.softmax.int %7, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %11 = torch.aten.matmul %10, %8 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %12 = torch.aten.flatten.using_ints %11, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %12 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,?,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %4 = torch.aten.div.Scalar %3, %float8.000000e00 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %5 = torch.aten.add.Tensor %4, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %6 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %7 = torch.aten.softmax.int %5, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %9 = torch.aten.matmul %8, %6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %10 = torch.aten.flatten.using_ints %9, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %10 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,?,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %float8.000000e00, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.div.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %9 = torch.aten.softmax.int %7, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %11 = torch.aten.matmul %10, %8 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %12 = torch.aten.flatten.using_ints %11, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %12 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_shared_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,?,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,?,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %6 = torch.aten.softmax.int %4, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %7 = torch.aten.to.dtype %6, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.matmul %7, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %9 = torch.aten.flatten.using_ints %8, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %9 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,1,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.aten.mul.Scalar %3, %arg4 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %5 = torch.aten.add.Tensor %4, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %6 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %7 = torch.aten.softmax.int %5, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %9 = torch.aten.matmul %8, %6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %10 = torch.aten.flatten.using_ints %9, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %10 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,1,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %arg4, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.mul.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %9 = torch.aten.softmax.int %7, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %11 = torch.aten.matmul %10, %8 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %12 = torch.aten.flatten.using_ints %11, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %12 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,1,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %4 = torch.aten.div.Scalar %3, %float8.000000e00 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %5 = torch.aten.add.Tensor %4, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %6 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %7 = torch.aten.softmax.int %5, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %9 = torch.aten.matmul %8, %6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %10 = torch.aten.flatten.using_ints %9, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %10 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,1,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %float8.000000e00, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.div.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %9 = torch.aten.softmax.int %7, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %11 = torch.aten.matmul %10, %8 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %12 = torch.aten.flatten.using_ints %11, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %12 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[11,1,1,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %6 = torch.aten.softmax.int %4, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %7 = torch.aten.to.dtype %6, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.matmul %7, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %9 = torch.aten.flatten.using_ints %8, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %9 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,1,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.aten.mul.Scalar %3, %arg4 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %5 = torch.aten.add.Tensor %4, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %6 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %7 = torch.aten.softmax.int %5, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %9 = torch.aten.matmul %8, %6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %10 = torch.aten.flatten.using_ints %9, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %10 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,1,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %arg4, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.mul.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %9 = torch.aten.softmax.int %7, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %11 = torch.aten.matmul %10, %8 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %12 = torch.aten.flatten.using_ints %11, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %12 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,1,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %4 = torch.aten.div.Scalar %3, %float8.000000e00 : !torch.vtensor<[11,13,?,?],bf16>, !torch.float -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %5 = torch.aten.add.Tensor %4, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %6 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %7 = torch.aten.softmax.int %5, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %8 = torch.aten.to.dtype %7, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %9 = torch.aten.matmul %8, %6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %10 = torch.aten.flatten.using_ints %9, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %10 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,1,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %4 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %float8.000000e00 = torch.constant.float 8.000000e+00
    %int15 = torch.constant.int 15
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %5 = torch.aten.full %4, %float8.000000e00, %int15, %none, %cpu, %false : !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],bf16>
    %6 = torch.aten.div.Tensor %3, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %7 = torch.aten.add.Tensor %6, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %9 = torch.aten.softmax.int %7, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.to.dtype %9, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %11 = torch.aten.matmul %10, %8 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %12 = torch.aten.flatten.using_ints %11, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %12 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "flat_key_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],bf16>, %arg1: !torch.vtensor<[143,64,?],bf16>, %arg2: !torch.vtensor<[143,?,64],bf16>, %arg3: !torch.vtensor<[1,1,1,?],bf16>) -> !torch.vtensor<[143,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],bf16>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,64,?],bf16> -> !torch.vtensor<[11,13,?,?],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[1,1,1,?],bf16>, !torch.int -> !torch.vtensor<[11,13,?,?],bf16>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],bf16>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int-1 = torch.constant.int -1
    %int6 = torch.constant.int 6
    %6 = torch.aten.softmax.int %4, %int-1, %int6 : !torch.vtensor<[11,13,?,?],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %int15 = torch.constant.int 15
    %false = torch.constant.bool false
    %none = torch.constant.none
    %7 = torch.aten.to.dtype %6, %int15, %false, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],bf16>
    %8 = torch.aten.matmul %7, %5 : !torch.vtensor<[11,13,?,?],bf16>, !torch.vtensor<[11,13,?,64],bf16> -> !torch.vtensor<[11,13,?,64],bf16>
    %9 = torch.aten.flatten.using_ints %8, %int0, %int1 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],bf16>
    return %9 : !torch.vtensor<[143,?,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,?,13,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %arg3, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %1 = torch.aten.transpose.int %0, %int1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,13,64],bf16>
    return %1 : !torch.vtensor<[11,?,13,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,?,13,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %arg3, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %1 = torch.aten.transpose.int %0, %int1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,13,64],bf16>
    return %1 : !torch.vtensor<[11,?,13,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,?,13,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %arg3, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int-1 = torch.constant.int -1
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int-1, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.reshape %0, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.transpose.int %3, %int1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,13,64],bf16>
    return %4 : !torch.vtensor<[11,?,13,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,?,13,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %arg3, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int-1 = torch.constant.int -1
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int-1, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.reshape %0, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.transpose.int %3, %int1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,13,64],bf16>
    return %4 : !torch.vtensor<[11,?,13,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,?,221,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %arg3, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %1 = torch.aten.transpose.int %0, %int1, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,221,64],bf16>
    return %1 : !torch.vtensor<[11,?,221,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,?,221,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %arg3, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %1 = torch.aten.transpose.int %0, %int1, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,221,64],bf16>
    return %1 : !torch.vtensor<[11,?,221,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,?,221,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %arg3, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int-1 = torch.constant.int -1
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int-1, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.reshape %0, %2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.transpose.int %3, %int1, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,221,64],bf16>
    return %4 : !torch.vtensor<[11,?,221,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,?,221,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %arg3, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int-1 = torch.constant.int -1
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int-1, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.reshape %0, %2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.transpose.int %3, %int1, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,221,64],bf16>
    return %4 : !torch.vtensor<[11,?,221,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"scale": 0.125, "causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,?,13,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %1 = torch.aten.transpose.int %0, %int1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,13,64],bf16>
    return %1 : !torch.vtensor<[11,?,13,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"scale": 0.125, "causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,?,13,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %none, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %1 = torch.aten.transpose.int %0, %int1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,13,64],bf16>
    return %1 : !torch.vtensor<[11,?,13,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"scale": 0.125, "causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,?,13,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int-1 = torch.constant.int -1
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int-1, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.reshape %0, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.transpose.int %3, %int1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,13,64],bf16>
    return %4 : !torch.vtensor<[11,?,13,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"scale": 0.125, "causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,?,13,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %none, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int-1 = torch.constant.int -1
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int-1, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.reshape %0, %2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,13,?,64],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.transpose.int %3, %int1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,13,64],bf16>
    return %4 : !torch.vtensor<[11,?,13,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"scale": 0.125, "causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,?,221,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %none, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %1 = torch.aten.transpose.int %0, %int1, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,221,64],bf16>
    return %1 : !torch.vtensor<[11,?,221,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"scale": 0.125, "causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,?,221,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %none, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %1 = torch.aten.transpose.int %0, %int1, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,221,64],bf16>
    return %1 : !torch.vtensor<[11,?,221,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"scale": 0.125, "causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,?,221,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %none, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int-1 = torch.constant.int -1
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int-1, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.reshape %0, %2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.transpose.int %3, %int1, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,221,64],bf16>
    return %4 : !torch.vtensor<[11,?,221,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "attention_by_position_bf16_64", "fixed": {"scale": 0.125, "causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,?,221,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %none, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    %int2 = torch.constant.int 2
    %1 = torch.aten.size.int %arg0, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int-1 = torch.constant.int -1
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int-1, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.reshape %0, %2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %int1 = torch.constant.int 1
    %4 = torch.aten.transpose.int %3, %int1, %int2 : !torch.vtensor<[11,221,?,64],bf16>, !torch.int, !torch.int -> !torch.vtensor<[11,?,221,64],bf16>
    return %4 : !torch.vtensor<[11,?,221,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "cached_attention_bf16_64", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,1,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11],si32>, %arg4: !torch.float) -> !torch.vtensor<[11,221,1,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %1 = torch.aten.arange %0, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %int1 = torch.constant.int 1
    %2 = torch.aten.unsqueeze %arg3, %int1 : !torch.vtensor<[11],si32>, !torch.int -> !torch.vtensor<[11,1],si32>
    %3 = torch.aten.lt.Tensor %1, %2 : !torch.vtensor<[?],si64>, !torch.vtensor<[11,1],si32> -> !torch.vtensor<[11,?],i1>
    %int11 = torch.constant.int 11
    %4 = torch.prim.ListConstruct %int11, %int1, %int1, %0 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,?],i1>, !torch.list<int> -> !torch.vtensor<[11,1,1,?],i1>
    %6 = torch.aten.unsqueeze %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %int13 = torch.constant.int 13
    %int17 = torch.constant.int 17
    %int64 = torch.constant.int 64
    %7 = torch.prim.ListConstruct %int11, %int13, %int17, %0, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %8 = torch.aten.expand %6, %7, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %int221 = torch.constant.int 221
    %9 = torch.prim.ListConstruct %int11, %int221, %0, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %10 = torch.aten.reshape %8, %9 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %11 = torch.aten.unsqueeze %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %12 = torch.aten.size.int %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %13 = torch.prim.ListConstruct %int11, %int13, %int17, %12, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %14 = torch.aten.expand %11, %13, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %15 = torch.prim.ListConstruct %int11, %int221, %12, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %16 = torch.aten.reshape %14, %15 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %17 = torch.aten.scaled_dot_product_attention %arg0, %10, %16, %5, %float0.000000e00, %false, %arg4, %false : !torch.vtensor<[11,221,1,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,1,1,?],i1>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,1,64],bf16>
    return %17 : !torch.vtensor<[11,221,1,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "cached_attention_bf16_64", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,1,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11],si32>, %arg4: !torch.float) -> !torch.vtensor<[11,221,1,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %1 = torch.aten.arange %0, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %int1 = torch.constant.int 1
    %2 = torch.aten.unsqueeze %arg3, %int1 : !torch.vtensor<[11],si32>, !torch.int -> !torch.vtensor<[11,1],si32>
    %3 = torch.aten.lt.Tensor %1, %2 : !torch.vtensor<[?],si64>, !torch.vtensor<[11,1],si32> -> !torch.vtensor<[11,?],i1>
    %int11 = torch.constant.int 11
    %4 = torch.prim.ListConstruct %int11, %int1, %int1, %0 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,?],i1>, !torch.list<int> -> !torch.vtensor<[11,1,1,?],i1>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %6 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %5, %float0.000000e00, %false, %arg4, %true : !torch.vtensor<[11,221,1,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,1,?],i1>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,1,64],bf16>
    return %6 : !torch.vtensor<[11,221,1,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "cached_attention_bf16_64", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,1,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11],si32>, %arg4: !torch.float) -> !torch.vtensor<[11,13,1,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %1 = torch.aten.arange %0, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %int1 = torch.constant.int 1
    %2 = torch.aten.unsqueeze %arg3, %int1 : !torch.vtensor<[11],si32>, !torch.int -> !torch.vtensor<[11,1],si32>
    %3 = torch.aten.lt.Tensor %1, %2 : !torch.vtensor<[?],si64>, !torch.vtensor<[11,1],si32> -> !torch.vtensor<[11,?],i1>
    %int11 = torch.constant.int 11
    %4 = torch.prim.ListConstruct %int11, %int1, %int1, %0 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,?],i1>, !torch.list<int> -> !torch.vtensor<[11,1,1,?],i1>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %6 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %5, %float0.000000e00, %false, %arg4, %false : !torch.vtensor<[11,13,1,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,1,?],i1>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,1,64],bf16>
    return %6 : !torch.vtensor<[11,13,1,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "cached_attention_bf16_64", "fixed": {"scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,1,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11],si32>) -> !torch.vtensor<[11,221,1,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %1 = torch.aten.arange %0, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %int1 = torch.constant.int 1
    %2 = torch.aten.unsqueeze %arg3, %int1 : !torch.vtensor<[11],si32>, !torch.int -> !torch.vtensor<[11,1],si32>
    %3 = torch.aten.lt.Tensor %1, %2 : !torch.vtensor<[?],si64>, !torch.vtensor<[11,1],si32> -> !torch.vtensor<[11,?],i1>
    %int11 = torch.constant.int 11
    %4 = torch.prim.ListConstruct %int11, %int1, %int1, %0 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,?],i1>, !torch.list<int> -> !torch.vtensor<[11,1,1,?],i1>
    %6 = torch.aten.unsqueeze %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %int13 = torch.constant.int 13
    %int17 = torch.constant.int 17
    %int64 = torch.constant.int 64
    %7 = torch.prim.ListConstruct %int11, %int13, %int17, %0, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %8 = torch.aten.expand %6, %7, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %int221 = torch.constant.int 221
    %9 = torch.prim.ListConstruct %int11, %int221, %0, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %10 = torch.aten.reshape %8, %9 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %11 = torch.aten.unsqueeze %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %12 = torch.aten.size.int %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %13 = torch.prim.ListConstruct %int11, %int13, %int17, %12, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %14 = torch.aten.expand %11, %13, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %15 = torch.prim.ListConstruct %int11, %int221, %12, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %16 = torch.aten.reshape %14, %15 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %17 = torch.aten.scaled_dot_product_attention %arg0, %10, %16, %5, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,221,1,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,1,1,?],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,1,64],bf16>
    return %17 : !torch.vtensor<[11,221,1,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "cached_attention_bf16_64", "fixed": {"scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,1,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11],si32>) -> !torch.vtensor<[11,221,1,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %1 = torch.aten.arange %0, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %int1 = torch.constant.int 1
    %2 = torch.aten.unsqueeze %arg3, %int1 : !torch.vtensor<[11],si32>, !torch.int -> !torch.vtensor<[11,1],si32>
    %3 = torch.aten.lt.Tensor %1, %2 : !torch.vtensor<[?],si64>, !torch.vtensor<[11,1],si32> -> !torch.vtensor<[11,?],i1>
    %int11 = torch.constant.int 11
    %4 = torch.prim.ListConstruct %int11, %int1, %int1, %0 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,?],i1>, !torch.list<int> -> !torch.vtensor<[11,1,1,?],i1>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %6 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %5, %float0.000000e00, %false, %none, %true : !torch.vtensor<[11,221,1,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,1,?],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,1,64],bf16>
    return %6 : !torch.vtensor<[11,221,1,64],bf16>
  }
}
// -----
// ["f16", "bf16"]
// {"kernel": "cached_attention_bf16_64", "fixed": {"scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,1,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11],si32>) -> !torch.vtensor<[11,13,1,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %1 = torch.aten.arange %0, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %int1 = torch.constant.int 1
    %2 = torch.aten.unsqueeze %arg3, %int1 : !torch.vtensor<[11],si32>, !torch.int -> !torch.vtensor<[11,1],si32>
    %3 = torch.aten.lt.Tensor %1, %2 : !torch.vtensor<[?],si64>, !torch.vtensor<[11,1],si32> -> !torch.vtensor<[11,?],i1>
    %int11 = torch.constant.int 11
    %4 = torch.prim.ListConstruct %int11, %int1, %int1, %0 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,?],i1>, !torch.list<int> -> !torch.vtensor<[11,1,1,?],i1>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %6 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %5, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,13,1,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,1,?],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,1,64],bf16>
    return %6 : !torch.vtensor<[11,13,1,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %arg3, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    return %0 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %arg3, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    return %0 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %arg3, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %0 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.float) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %arg3, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %0 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"scale": 0.125, "causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    return %0 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"scale": 0.125, "causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %none, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    return %0 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"scale": 0.125, "causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %false, %none, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %0 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "attention_bf16_64", "fixed": {"scale": 0.125, "causal": true}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %none, %float0.000000e00, %true, %none, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %0 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %arg3, %float0.000000e00, %false, %arg4, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    return %0 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %arg3, %float0.000000e00, %false, %arg4, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %0 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>, %arg4: !torch.float) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.unsqueeze %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %1 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %int17 = torch.constant.int 17
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int13, %int17, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %false = torch.constant.bool false
    %3 = torch.aten.expand %0, %2, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %int221 = torch.constant.int 221
    %4 = torch.prim.ListConstruct %int11, %int221, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %6 = torch.aten.unsqueeze %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %7 = torch.aten.size.int %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %8 = torch.prim.ListConstruct %int11, %int13, %int17, %7, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %9 = torch.aten.expand %6, %8, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %10 = torch.prim.ListConstruct %int11, %int221, %7, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %11 = torch.aten.reshape %9, %10 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %12 = torch.aten.scaled_dot_product_attention %arg0, %5, %11, %arg3, %float0.000000e00, %false, %arg4, %false : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %12 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "bool_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],i1>, %arg4: !torch.float) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %arg3, %float0.000000e00, %false, %arg4, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,?,?],i1>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    return %0 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "bool_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],i1>, %arg4: !torch.float) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %arg3, %float0.000000e00, %false, %arg4, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,?,?],i1>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %0 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "bool_masked_attention_bf16_64", "fixed": {"causal": false}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],i1>, %arg4: !torch.float) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.unsqueeze %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %1 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %int17 = torch.constant.int 17
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int13, %int17, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %false = torch.constant.bool false
    %3 = torch.aten.expand %0, %2, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %int221 = torch.constant.int 221
    %4 = torch.prim.ListConstruct %int11, %int221, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %6 = torch.aten.unsqueeze %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %7 = torch.aten.size.int %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %8 = torch.prim.ListConstruct %int11, %int13, %int17, %7, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %9 = torch.aten.expand %6, %8, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %10 = torch.prim.ListConstruct %int11, %int221, %7, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %11 = torch.aten.reshape %9, %10 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %12 = torch.aten.scaled_dot_product_attention %arg0, %5, %11, %arg3, %float0.000000e00, %false, %arg4, %false : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,1,?,?],i1>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %12 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %arg3, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    return %0 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %none = torch.constant.none
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %arg3, %float0.000000e00, %false, %none, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %0 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],bf16>) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.unsqueeze %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %1 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %int17 = torch.constant.int 17
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int13, %int17, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %false = torch.constant.bool false
    %3 = torch.aten.expand %0, %2, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %int221 = torch.constant.int 221
    %4 = torch.prim.ListConstruct %int11, %int221, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %6 = torch.aten.unsqueeze %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %7 = torch.aten.size.int %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %8 = torch.prim.ListConstruct %int11, %int13, %int17, %7, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %9 = torch.aten.expand %6, %8, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %10 = torch.prim.ListConstruct %int11, %int221, %7, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %11 = torch.aten.reshape %9, %10 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %none = torch.constant.none
    %12 = torch.aten.scaled_dot_product_attention %arg0, %5, %11, %arg3, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,1,?,?],bf16>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %12 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "bool_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,13,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],i1>) -> !torch.vtensor<[11,13,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %arg3, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,?,?],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,13,?,64],bf16>
    return %0 : !torch.vtensor<[11,13,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "bool_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],i1>) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %none = torch.constant.none
    %true = torch.constant.bool true
    %0 = torch.aten.scaled_dot_product_attention %arg0, %arg1, %arg2, %arg3, %float0.000000e00, %false, %none, %true : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,13,?,64],bf16>, !torch.vtensor<[11,1,?,?],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %0 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "bool_masked_attention_bf16_64", "fixed": {"causal": false, "scale": 0.125}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[11,221,?,64],bf16>, %arg1: !torch.vtensor<[11,13,?,64],bf16>, %arg2: !torch.vtensor<[11,13,?,64],bf16>, %arg3: !torch.vtensor<[11,1,?,?],i1>) -> !torch.vtensor<[11,221,?,64],bf16> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int2 = torch.constant.int 2
    %0 = torch.aten.unsqueeze %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %1 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %int17 = torch.constant.int 17
    %int64 = torch.constant.int 64
    %2 = torch.prim.ListConstruct %int11, %int13, %int17, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %false = torch.constant.bool false
    %3 = torch.aten.expand %0, %2, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %int221 = torch.constant.int 221
    %4 = torch.prim.ListConstruct %int11, %int221, %1, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.reshape %3, %4 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %6 = torch.aten.unsqueeze %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.vtensor<[11,13,1,?,64],bf16>
    %7 = torch.aten.size.int %arg2, %int2 : !torch.vtensor<[11,13,?,64],bf16>, !torch.int -> !torch.int
    %8 = torch.prim.ListConstruct %int11, %int13, %int17, %7, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %9 = torch.aten.expand %6, %8, %false : !torch.vtensor<[11,13,1,?,64],bf16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[11,13,17,?,64],bf16>
    %10 = torch.prim.ListConstruct %int11, %int221, %7, %int64 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %11 = torch.aten.reshape %9, %10 : !torch.vtensor<[11,13,17,?,64],bf16>, !torch.list<int> -> !torch.vtensor<[11,221,?,64],bf16>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %none = torch.constant.none
    %12 = torch.aten.scaled_dot_product_attention %arg0, %5, %11, %arg3, %float0.000000e00, %false, %none, %false : !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,221,?,64],bf16>, !torch.vtensor<[11,1,?,?],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[11,221,?,64],bf16>
    return %12 : !torch.vtensor<[11,221,?,64],bf16>
  }
}
// -----
// ["f32"]
// {"kernel": "flat_attention_f32_64", "fixed": {"causal": true, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],f32>, %arg1: !torch.vtensor<[143,64,?],f32>, %arg2: !torch.vtensor<[143,?,64],f32>) -> !torch.vtensor<[143,?,64],f32> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],f32>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %4 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %int2 = torch.constant.int 2
    %5 = torch.aten.size.int %arg1, %int2 : !torch.vtensor<[143,64,?],f32>, !torch.int -> !torch.int
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %6 = torch.aten.arange %5, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %int-2 = torch.constant.int -2
    %7 = torch.aten.unsqueeze %6, %int-2 : !torch.vtensor<[?],si64>, !torch.int -> !torch.vtensor<[1,?],si64>
    %int1 = torch.constant.int 1
    %8 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[143,?,64],f32>, !torch.int -> !torch.int
    %9 = torch.aten.arange %8, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?],si64>
    %int-1 = torch.constant.int -1
    %10 = torch.aten.unsqueeze %9, %int-1 : !torch.vtensor<[?],si64>, !torch.int -> !torch.vtensor<[?,1],si64>
    %11 = torch.aten.sub.Tensor %7, %10, %int1 : !torch.vtensor<[1,?],si64>, !torch.vtensor<[?,1],si64>, !torch.int -> !torch.vtensor<[?,?],si64>
    %12 = torch.aten.le.Scalar %11, %int0 : !torch.vtensor<[?,?],si64>, !torch.int -> !torch.vtensor<[?,?],i1>
    %13 = torch.prim.ListConstruct %8, %5 : (!torch.int, !torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %14 = torch.aten.Int.bool %true : !torch.bool -> !torch.int
    %15 = torch.aten.full %13, %14, %int11, %none, %cpu, %false : !torch.list<int>, !torch.int, !torch.int, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?,?],i1>
    %16 = torch.aten.logical_and %12, %15 : !torch.vtensor<[?,?],i1>, !torch.vtensor<[?,?],i1> -> !torch.vtensor<[?,?],i1>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %17 = torch.aten.scalar_tensor %float0.000000e00, %none, %none, %cpu, %false : !torch.float, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %18 = torch.aten.scalar_tensor %float-Inf, %none, %none, %cpu, %false : !torch.float, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[],f32>
    %19 = torch.aten.where.self %16, %17, %18 : !torch.vtensor<[?,?],i1>, !torch.vtensor<[],f32>, !torch.vtensor<[],f32> -> !torch.vtensor<[?,?],f32>
    %20 = torch.aten.add.Tensor %3, %19, %int1 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %21 = torch.aten.softmax.int %20, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %22 = torch.aten.eq.Scalar %20, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %23 = torch.aten.logical_not %22 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %24 = torch.aten.any.dim %23, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %25 = torch.aten.full_like %21, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %26 = torch.aten.logical_not %24 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %27 = torch.aten.where.self %26, %25, %21 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %28 = torch.aten.matmul %27, %4 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %29 = torch.aten.flatten.using_ints %28, %int0, %int1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],f32>
    return %29 : !torch.vtensor<[143,?,64],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "flat_attention_f32_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],f32>, %arg1: !torch.vtensor<[143,64,?],f32>, %arg2: !torch.vtensor<[143,?,64],f32>) -> !torch.vtensor<[143,?,64],f32> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],f32>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %4 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %5 = torch.aten.softmax.int %3, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %6 = torch.aten.eq.Scalar %3, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %7 = torch.aten.logical_not %6 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %true = torch.constant.bool true
    %8 = torch.aten.any.dim %7, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %false = torch.constant.bool false
    %9 = torch.aten.full_like %5, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %10 = torch.aten.logical_not %8 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %11 = torch.aten.where.self %10, %9, %5 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %12 = torch.aten.matmul %11, %4 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %int1 = torch.constant.int 1
    %13 = torch.aten.flatten.using_ints %12, %int0, %int1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],f32>
    return %13 : !torch.vtensor<[143,?,64],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "flat_shared_masked_attention_f32_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],f32>, %arg1: !torch.vtensor<[143,64,?],f32>, %arg2: !torch.vtensor<[143,?,64],f32>, %arg3: !torch.vtensor<[11,1,?,?],f32>) -> !torch.vtensor<[143,?,64],f32> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],f32>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,1,?,?],f32>, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %6 = torch.aten.softmax.int %4, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %7 = torch.aten.eq.Scalar %4, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %8 = torch.aten.logical_not %7 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %true = torch.constant.bool true
    %9 = torch.aten.any.dim %8, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %false = torch.constant.bool false
    %10 = torch.aten.full_like %6, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %11 = torch.aten.logical_not %9 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %12 = torch.aten.where.self %11, %10, %6 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %13 = torch.aten.matmul %12, %5 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %14 = torch.aten.flatten.using_ints %13, %int0, %int1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],f32>
    return %14 : !torch.vtensor<[143,?,64],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "flat_shared_masked_attention_f32_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],f32>, %arg1: !torch.vtensor<[143,64,?],f32>, %arg2: !torch.vtensor<[143,?,64],f32>, %arg3: !torch.vtensor<[1,1,?,?],f32>) -> !torch.vtensor<[143,?,64],f32> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],f32>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[1,1,?,?],f32>, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %6 = torch.aten.softmax.int %4, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %7 = torch.aten.eq.Scalar %4, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %8 = torch.aten.logical_not %7 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %true = torch.constant.bool true
    %9 = torch.aten.any.dim %8, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %false = torch.constant.bool false
    %10 = torch.aten.full_like %6, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %11 = torch.aten.logical_not %9 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %12 = torch.aten.where.self %11, %10, %6 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %13 = torch.aten.matmul %12, %5 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %14 = torch.aten.flatten.using_ints %13, %int0, %int1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],f32>
    return %14 : !torch.vtensor<[143,?,64],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "flat_key_masked_attention_f32_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],f32>, %arg1: !torch.vtensor<[143,64,?],f32>, %arg2: !torch.vtensor<[143,?,64],f32>, %arg3: !torch.vtensor<[11,1,1,?],f32>) -> !torch.vtensor<[143,?,64],f32> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],f32>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,1,1,?],f32>, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %6 = torch.aten.softmax.int %4, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %7 = torch.aten.eq.Scalar %4, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %8 = torch.aten.logical_not %7 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %true = torch.constant.bool true
    %9 = torch.aten.any.dim %8, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %false = torch.constant.bool false
    %10 = torch.aten.full_like %6, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %11 = torch.aten.logical_not %9 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %12 = torch.aten.where.self %11, %10, %6 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %13 = torch.aten.matmul %12, %5 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %14 = torch.aten.flatten.using_ints %13, %int0, %int1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],f32>
    return %14 : !torch.vtensor<[143,?,64],f32>
  }
}
// -----
// ["f32"]
// {"kernel": "flat_key_masked_attention_f32_64", "fixed": {"causal": false, "scale": 1.0}, "axes": {"k": [0, 2, 1]}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[143,?,64],f32>, %arg1: !torch.vtensor<[143,64,?],f32>, %arg2: !torch.vtensor<[143,?,64],f32>, %arg3: !torch.vtensor<[1,1,1,?],f32>) -> !torch.vtensor<[143,?,64],f32> attributes {custom_dispatch.any_sizes = array<i64: 11, 13, 17>} {
    %int0 = torch.constant.int 0
    %int11 = torch.constant.int 11
    %int13 = torch.constant.int 13
    %0 = torch.prim.ListConstruct %int11, %int13 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.unflatten.int %arg0, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %2 = torch.aten.unflatten.int %arg1, %int0, %0 : !torch.vtensor<[143,64,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,64,?],f32>
    %3 = torch.aten.matmul %1, %2 : !torch.vtensor<[11,13,?,64],f32>, !torch.vtensor<[11,13,64,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %int1 = torch.constant.int 1
    %4 = torch.aten.add.Tensor %3, %arg3, %int1 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[1,1,1,?],f32>, !torch.int -> !torch.vtensor<[11,13,?,?],f32>
    %5 = torch.aten.unflatten.int %arg2, %int0, %0 : !torch.vtensor<[143,?,64],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[11,13,?,64],f32>
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %6 = torch.aten.softmax.int %4, %int-1, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %float-Inf = torch.constant.float 0xFFF0000000000000
    %7 = torch.aten.eq.Scalar %4, %float-Inf : !torch.vtensor<[11,13,?,?],f32>, !torch.float -> !torch.vtensor<[11,13,?,?],i1>
    %8 = torch.aten.logical_not %7 : !torch.vtensor<[11,13,?,?],i1> -> !torch.vtensor<[11,13,?,?],i1>
    %true = torch.constant.bool true
    %9 = torch.aten.any.dim %8, %int-1, %true : !torch.vtensor<[11,13,?,?],i1>, !torch.int, !torch.bool -> !torch.vtensor<[11,13,?,1],i1>
    %false = torch.constant.bool false
    %10 = torch.aten.full_like %6, %int0, %none, %none, %none, %false, %none : !torch.vtensor<[11,13,?,?],f32>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[11,13,?,?],f32>
    %11 = torch.aten.logical_not %9 : !torch.vtensor<[11,13,?,1],i1> -> !torch.vtensor<[11,13,?,1],i1>
    %12 = torch.aten.where.self %11, %10, %6 : !torch.vtensor<[11,13,?,1],i1>, !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,?],f32> -> !torch.vtensor<[11,13,?,?],f32>
    %13 = torch.aten.matmul %12, %5 : !torch.vtensor<[11,13,?,?],f32>, !torch.vtensor<[11,13,?,64],f32> -> !torch.vtensor<[11,13,?,64],f32>
    %14 = torch.aten.flatten.using_ints %13, %int0, %int1 : !torch.vtensor<[11,13,?,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[143,?,64],f32>
    return %14 : !torch.vtensor<[143,?,64],f32>
  }
}
