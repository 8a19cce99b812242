// What iree-turbine 3.9.0 makes of the model in test_torch_turbine.py, with its weights externalised:
// aot.externalize_module_parameters(model); aot.export(model, args=(x,), dynamic_shapes=({0: Dim("n")},)).
module @module {
  util.global private @__auto.scale = #flow.parameter.named<"model"::"scale"> : tensor<8xf32>
  util.global private @__auto.out.weight = #flow.parameter.named<"model"::"out.weight"> : tensor<4x8xf32>
  util.global private @__auto.out.bias = #flow.parameter.named<"model"::"out.bias"> : tensor<4xf32>
  func.func @main(%arg0: !torch.vtensor<[?,8],f32>) -> !torch.vtensor<[?,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %__auto.scale = util.global.load @__auto.scale : tensor<8xf32>
    %0 = torch_c.from_builtin_tensor %__auto.scale : tensor<8xf32> -> !torch.vtensor<[8],f32>
    %float1.000000e-05 = torch.constant.float 1.000000e-05
    %1 = torch.operator "torch.custom_dispatch.rms_norm_f32"(%arg0, %0, %float1.000000e-05) : (!torch.vtensor<[?,8],f32>, !torch.vtensor<[8],f32>, !torch.float) -> !torch.vtensor<[?,8],f32> 
    %2 = torch.aten.relu %1 : !torch.vtensor<[?,8],f32> -> !torch.vtensor<[?,8],f32>
    %__auto.out.weight = util.global.load @__auto.out.weight : tensor<4x8xf32>
    %3 = torch_c.from_builtin_tensor %__auto.out.weight : tensor<4x8xf32> -> !torch.vtensor<[4,8],f32>
    %__auto.out.bias = util.global.load @__auto.out.bias : tensor<4xf32>
    %4 = torch_c.from_builtin_tensor %__auto.out.bias : tensor<4xf32> -> !torch.vtensor<[4],f32>
    %5 = torch.aten.linear %2, %3, %4 : !torch.vtensor<[?,8],f32>, !torch.vtensor<[4,8],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[?,4],f32>
    return %5 : !torch.vtensor<[?,4],f32>
  }
}
