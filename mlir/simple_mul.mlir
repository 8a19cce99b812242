// What `custom-dispatch emit cuda_kernels.simple_mul -t cuda:sm_80,cuda:sm_90` writes, without the
// manifest that the first function carries in its reflection. Stock iree-compile takes it beside
// simple_mul_sm_80.ptx and simple_mul_sm_90.ptx. tests/ir/test_library_module.py compares.

hal.executable private @custom_dispatch_simple_mul {
  hal.executable.variant public @sm_90 target(#hal.executable.target<"cuda", "cuda-nvptx-fb">) objects([#hal.executable.object<{path = "simple_mul_sm_90.ptx"}>]) {
    hal.executable.condition(%device: !hal.device) -> i1 {
      %has_major, %major = hal.device.query<%device : !hal.device> key("cuda.device" :: "compute_capability_major") : i1, i32 = 0 : i32
      %has_minor, %minor = hal.device.query<%device : !hal.device> key("cuda.device" :: "compute_capability_minor") : i1, i32 = 0 : i32
      %i10 = arith.constant 10 : i32
      %v = arith.muli %major, %i10 : i32
      %cc = arith.addi %v, %minor : i32
      %i90 = arith.constant 90 : i32
      %fits = arith.cmpi sge, %cc, %i90 : i32
      hal.return %fits : i1
    }
    hal.executable.export public @simple_mul ordinal(0) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>) count(%device: !hal.device, %n: index) -> (index, index, index) {
      %c64 = arith.constant 64 : index
      %v = arith.ceildivui %n, %c64 : index
      %c1 = arith.constant 1 : index
      %v_1 = arith.minui %v, %c1 : index
      hal.return %v, %v_1, %v_1 : index, index, index
    } <workgroup_size = [64 : index, 1 : index, 1 : index]>
    hal.executable.export public @simple_mul_inplace ordinal(1) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>) count(%device: !hal.device, %n: index) -> (index, index, index) {
      %c64 = arith.constant 64 : index
      %v = arith.ceildivui %n, %c64 : index
      %c1 = arith.constant 1 : index
      %v_1 = arith.minui %v, %c1 : index
      hal.return %v, %v_1, %v_1 : index, index, index
    } <workgroup_size = [64 : index, 1 : index, 1 : index]>
  }
  hal.executable.variant public @sm_80 target(#hal.executable.target<"cuda", "cuda-nvptx-fb">) objects([#hal.executable.object<{path = "simple_mul_sm_80.ptx"}>]) {
    hal.executable.condition(%device: !hal.device) -> i1 {
      %has_major, %major = hal.device.query<%device : !hal.device> key("cuda.device" :: "compute_capability_major") : i1, i32 = 0 : i32
      %has_minor, %minor = hal.device.query<%device : !hal.device> key("cuda.device" :: "compute_capability_minor") : i1, i32 = 0 : i32
      %i10 = arith.constant 10 : i32
      %v = arith.muli %major, %i10 : i32
      %cc = arith.addi %v, %minor : i32
      %i80 = arith.constant 80 : i32
      %fits = arith.cmpi sge, %cc, %i80 : i32
      hal.return %fits : i1
    }
    hal.executable.export public @simple_mul ordinal(0) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>) count(%device: !hal.device, %n: index) -> (index, index, index) {
      %c64 = arith.constant 64 : index
      %v = arith.ceildivui %n, %c64 : index
      %c1 = arith.constant 1 : index
      %v_1 = arith.minui %v, %c1 : index
      hal.return %v, %v_1, %v_1 : index, index, index
    } <workgroup_size = [64 : index, 1 : index, 1 : index]>
    hal.executable.export public @simple_mul_inplace ordinal(1) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>) count(%device: !hal.device, %n: index) -> (index, index, index) {
      %c64 = arith.constant 64 : index
      %v = arith.ceildivui %n, %c64 : index
      %c1 = arith.constant 1 : index
      %v_1 = arith.minui %v, %c1 : index
      hal.return %v, %v_1, %v_1 : index, index, index
    } <workgroup_size = [64 : index, 1 : index, 1 : index]>
  }
}

func.func public @simple_mul(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %lhs_0 = tensor.dim %lhs, %c0 : tensor<?xf32>
  %rhs_0 = tensor.dim %rhs, %c0 : tensor<?xf32>
  %v = arith.cmpi eq, %rhs_0, %lhs_0 : index
  %true = arith.constant true
  %v_1 = arith.xori %v, %true : i1
  scf.if %v_1 {
    %i3 = arith.constant 3 : i32
    util.status.check_ok %i3, "kernel `simple_mul`: `lhs`.shape[0] and `rhs`.shape[0] disagree on dim n: declared are lhs[n], rhs[n], product[n]"
  }
  %c2147483647 = arith.constant 2147483647 : index
  %v_2 = arith.cmpi ule, %lhs_0, %c2147483647 : index
  %v_3 = arith.xori %v_2, %true : i1
  scf.if %v_3 {
    %i3_1 = arith.constant 3 : i32
    util.status.check_ok %i3_1, "kernel `simple_mul`: scalar `count` = n does not fit i32"
  }
  %count = arith.index_castui %lhs_0 : index to i32
  %c64 = arith.constant 64 : index
  %v_4 = arith.ceildivui %lhs_0, %c64 : index
  %c1 = arith.constant 1 : index
  %v_5 = arith.cmpi ule, %v_4, %c2147483647 : index
  %v_6 = arith.xori %v_5, %true : i1
  scf.if %v_6 {
    %i3_2 = arith.constant 3 : i32
    util.status.check_ok %i3_2, "kernel `simple_mul`: grid.x = ceildiv(n, 64) is over CUDA's limit of 2147483647"
  }
  %v_7 = arith.cmpi ugt, %v_4, %c0 : index
  %v_8 = arith.cmpi eq, %lhs_0, %c0 : index
  %v_9 = arith.ori %v_7, %v_8 : i1
  %v_10 = arith.xori %v_9, %true : i1
  scf.if %v_10 {
    %i3_3 = arith.constant 3 : i32
    util.status.check_ok %i3_3, "kernel `simple_mul`: the grid is empty, so nothing would write `product`, which has elements"
  }
  %product_new = flow.dispatch {@custom_dispatch_simple_mul::@sm_90::@simple_mul, @custom_dispatch_simple_mul::@sm_80::@simple_mul}[%lhs_0](%lhs, %rhs, %count) : (tensor<?xf32>{%lhs_0}, tensor<?xf32>{%rhs_0}, i32) -> (tensor<?xf32>{%lhs_0})
  func.return %product_new : tensor<?xf32>
}

func.func public @simple_mul_inplace(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %lhs_0 = tensor.dim %lhs, %c0 : tensor<?xf32>
  %rhs_0 = tensor.dim %rhs, %c0 : tensor<?xf32>
  %v = arith.cmpi eq, %rhs_0, %lhs_0 : index
  %true = arith.constant true
  %v_1 = arith.xori %v, %true : i1
  scf.if %v_1 {
    %i3 = arith.constant 3 : i32
    util.status.check_ok %i3, "kernel `simple_mul_inplace`: `lhs`.shape[0] and `rhs`.shape[0] disagree on dim n: declared are lhs[n], rhs[n]"
  }
  %c2147483647 = arith.constant 2147483647 : index
  %v_2 = arith.cmpi ule, %lhs_0, %c2147483647 : index
  %v_3 = arith.xori %v_2, %true : i1
  scf.if %v_3 {
    %i3_1 = arith.constant 3 : i32
    util.status.check_ok %i3_1, "kernel `simple_mul_inplace`: scalar `count` = n does not fit i32"
  }
  %count = arith.index_castui %lhs_0 : index to i32
  %c64 = arith.constant 64 : index
  %v_4 = arith.ceildivui %lhs_0, %c64 : index
  %c1 = arith.constant 1 : index
  %v_5 = arith.cmpi ule, %v_4, %c2147483647 : index
  %v_6 = arith.xori %v_5, %true : i1
  scf.if %v_6 {
    %i3_2 = arith.constant 3 : i32
    util.status.check_ok %i3_2, "kernel `simple_mul_inplace`: grid.x = ceildiv(n, 64) is over CUDA's limit of 2147483647"
  }
  %v_7 = arith.cmpi ugt, %v_4, %c0 : index
  %rhs_new = flow.dispatch {@custom_dispatch_simple_mul::@sm_90::@simple_mul_inplace, @custom_dispatch_simple_mul::@sm_80::@simple_mul_inplace}[%lhs_0](%lhs, %rhs, %count) : (tensor<?xf32>{%lhs_0}, tensor<?xf32>{%rhs_0}, i32) -> (%rhs{%rhs_0})
  %keep = util.optimization_barrier %rhs : tensor<?xf32>
  func.return %rhs_new : tensor<?xf32>
}
