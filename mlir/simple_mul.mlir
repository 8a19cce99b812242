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
    hal.executable.export public @simple_mul ordinal(0) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) count(%device: !hal.device, %n: index) -> (index, index, index) {
      %c64 = arith.constant 64 : index
      %v = arith.ceildivui %n, %c64 : index
      %c1 = arith.constant 1 : index
      %v_1 = arith.minui %v, %c1 : index
      hal.return %v, %v_1, %v_1 : index, index, index
    } <workgroup_size = [64 : index, 1 : index, 1 : index]>
    hal.executable.export public @simple_mul_inplace ordinal(1) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) count(%device: !hal.device, %n: index) -> (index, index, index) {
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
    hal.executable.export public @simple_mul ordinal(0) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) count(%device: !hal.device, %n: index) -> (index, index, index) {
      %c64 = arith.constant 64 : index
      %v = arith.ceildivui %n, %c64 : index
      %c1 = arith.constant 1 : index
      %v_1 = arith.minui %v, %c1 : index
      hal.return %v, %v_1, %v_1 : index, index, index
    } <workgroup_size = [64 : index, 1 : index, 1 : index]>
    hal.executable.export public @simple_mul_inplace ordinal(1) layout(#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) count(%device: !hal.device, %n: index) -> (index, index, index) {
      %c64 = arith.constant 64 : index
      %v = arith.ceildivui %n, %c64 : index
      %c1 = arith.constant 1 : index
      %v_1 = arith.minui %v, %c1 : index
      hal.return %v, %v_1, %v_1 : index, index, index
    } <workgroup_size = [64 : index, 1 : index, 1 : index]>
  }
}

func.func private @custom_dispatch_body_of_simple_mul(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
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
  %v_5 = arith.cmpi ule, %v_4, %c2147483647 : index
  %v_6 = arith.xori %v_5, %true : i1
  scf.if %v_6 {
    %i3_2 = arith.constant 3 : i32
    util.status.check_ok %i3_2, "kernel `simple_mul`: grid.x = ceildiv(n, 64) is over CUDA's limit of 2147483647"
  }
  %c1 = arith.constant 1 : index
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

util.func public @"simple_mul$async"(%input0: !hal.buffer_view, %input1: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> (!hal.buffer_view) attributes {iree.abi.stub, inlining_policy = #util.inline.never, iree.reflection = {iree.abi.declaration = "async func @simple_mul$async(%input0: tensor<?xf32>, %input1: tensor<?xf32>) -> (%output0: tensor<?xf32>)", iree.abi.model = "coarse-fences", custom_dispatch.inputs = "lhs,rhs", custom_dispatch.stateless = "true"}} {
  %v = hal.buffer_view.dim<%input0 : !hal.buffer_view>[0] : index
  %tensor = hal.tensor.import wait(%wait) => %input0 "input0" : !hal.buffer_view -> tensor<?xf32>{%v}
  %v_1 = hal.buffer_view.dim<%input1 : !hal.buffer_view>[0] : index
  %tensor_1 = hal.tensor.import wait(%wait) => %input1 "input1" : !hal.buffer_view -> tensor<?xf32>{%v_1}
  %result = func.call @"custom_dispatch_body_of_simple_mul"(%tensor, %tensor_1) : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
  %ready = hal.tensor.barrier join(%result : tensor<?xf32>) => %signal : !hal.fence
  %c0 = arith.constant 0 : index
  %v_2 = tensor.dim %ready, %c0 : tensor<?xf32>
  %exported = hal.tensor.export %ready "output0" : tensor<?xf32>{%v_2} -> !hal.buffer_view
  util.return %exported : !hal.buffer_view
}
util.func public @"simple_mul"(%input0: !hal.buffer_view, %input1: !hal.buffer_view) -> (!hal.buffer_view) attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @simple_mul(%input0: tensor<?xf32>, %input1: tensor<?xf32>) -> (%output0: tensor<?xf32>)", custom_dispatch.results = "f32"}} {
  %none = util.null : !hal.fence
  %c0 = arith.constant 0 : index
  %device = hal.devices.get %c0 : !hal.device
  %done = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  %output0 = util.call @"simple_mul$async"(%input0, %input1, %none, %done) : (!hal.buffer_view, !hal.buffer_view, !hal.fence, !hal.fence) -> (!hal.buffer_view)
  %i = arith.constant -1 : i32
  %status = hal.fence.await until([%done]) timeout_millis(%i) flags("None") : i32
  util.status.check_ok %status, "what was waited for has failed"
  util.return %output0 : !hal.buffer_view
}

func.func private @custom_dispatch_checks_of_simple_mul(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
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
  %v_5 = arith.cmpi ule, %v_4, %c2147483647 : index
  %v_6 = arith.xori %v_5, %true : i1
  scf.if %v_6 {
    %i3_2 = arith.constant 3 : i32
    util.status.check_ok %i3_2, "kernel `simple_mul`: grid.x = ceildiv(n, 64) is over CUDA's limit of 2147483647"
  }
  %c1 = arith.constant 1 : index
  %v_7 = arith.cmpi ugt, %v_4, %c0 : index
  %v_8 = arith.cmpi eq, %lhs_0, %c0 : index
  %v_9 = arith.ori %v_7, %v_8 : i1
  %v_10 = arith.xori %v_9, %true : i1
  scf.if %v_10 {
    %i3_3 = arith.constant 3 : i32
    util.status.check_ok %i3_3, "kernel `simple_mul`: the grid is empty, so nothing would write `product`, which has elements"
  }
  %v_11 = tensor.empty(%lhs_0) : tensor<?xf32>
  func.return %v_11 : tensor<?xf32>
}

func.func private @custom_dispatch_dispatch_of_simple_mul(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %lhs_0 = tensor.dim %lhs, %c0 : tensor<?xf32>
  %rhs_0 = tensor.dim %rhs, %c0 : tensor<?xf32>
  %v = arith.cmpi eq, %rhs_0, %lhs_0 : index
  %c2147483647 = arith.constant 2147483647 : index
  %v_1 = arith.cmpi ule, %lhs_0, %c2147483647 : index
  %count = arith.index_castui %lhs_0 : index to i32
  %c64 = arith.constant 64 : index
  %v_2 = arith.ceildivui %lhs_0, %c64 : index
  %v_3 = arith.cmpi ule, %v_2, %c2147483647 : index
  %c1 = arith.constant 1 : index
  %v_4 = arith.cmpi ugt, %v_2, %c0 : index
  %v_5 = arith.cmpi eq, %lhs_0, %c0 : index
  %v_6 = arith.ori %v_4, %v_5 : i1
  %product_new = flow.dispatch {@custom_dispatch_simple_mul::@sm_90::@simple_mul, @custom_dispatch_simple_mul::@sm_80::@simple_mul}[%lhs_0](%lhs, %rhs, %count) : (tensor<?xf32>{%lhs_0}, tensor<?xf32>{%rhs_0}, i32) -> (tensor<?xf32>{%lhs_0})
  func.return %product_new : tensor<?xf32>
}

util.func public @"simple_mul$into"(%input0: !hal.buffer_view, %input1: !hal.buffer_view, %storage0: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> () attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "async func @simple_mul$into(%input0: tensor<?xf32>, %input1: tensor<?xf32>, %input2: tensor<?xf32>) -> ()", iree.abi.model = "coarse-fences", custom_dispatch.updated = ""}} {
  %v = hal.buffer_view.dim<%input0 : !hal.buffer_view>[0] : index
  %tensor = hal.tensor.import wait(%wait) => %input0 "input0" : !hal.buffer_view -> tensor<?xf32>{%v}
  %v_1 = hal.buffer_view.dim<%input1 : !hal.buffer_view>[0] : index
  %tensor_1 = hal.tensor.import wait(%wait) => %input1 "input1" : !hal.buffer_view -> tensor<?xf32>{%v_1}
  %result = func.call @"custom_dispatch_checks_of_simple_mul"(%tensor, %tensor_1) : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
  %c0 = arith.constant 0 : index
  %v_2 = tensor.dim %result, %c0 : tensor<?xf32>
  %v_3 = hal.element_type<f32> : i32
  %v_4 = hal.encoding_type<dense_row_major> : i32
  hal.buffer_view.assert<%storage0 : !hal.buffer_view> message("storage") shape([%v_2]) type(%v_3) encoding(%v_4)
  %v_5 = arith.cmpi ne, %v_2, %c0 : index
  scf.if %v_5 {
    %result_1 = func.call @"custom_dispatch_dispatch_of_simple_mul"(%tensor, %tensor_1) : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
    %v_6 = tensor.dim %result_1, %c0 : tensor<?xf32>
    %written = hal.tensor.alias wait(%wait) => %result_1 : tensor<?xf32>{%v_6} to %storage0 : !hal.buffer_view
    %ready = hal.tensor.barrier join(%written : tensor<?xf32>) => %signal : !hal.fence
    %kept = util.optimization_barrier %ready : tensor<?xf32>
  } else {
    %i = arith.constant -1 : i32
    %status = hal.fence.await until([%wait]) timeout_millis(%i) flags("None") : i32
    util.status.check_ok %status, "what was waited for has failed"
    hal.fence.signal<%signal : !hal.fence>
  }
  util.return
}

func.func private @custom_dispatch_body_of_simple_mul_inplace(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
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
  %v_5 = arith.cmpi ule, %v_4, %c2147483647 : index
  %v_6 = arith.xori %v_5, %true : i1
  scf.if %v_6 {
    %i3_2 = arith.constant 3 : i32
    util.status.check_ok %i3_2, "kernel `simple_mul_inplace`: grid.x = ceildiv(n, 64) is over CUDA's limit of 2147483647"
  }
  %c1 = arith.constant 1 : index
  %v_7 = arith.cmpi ugt, %v_4, %c0 : index
  %rhs_new = flow.dispatch {@custom_dispatch_simple_mul::@sm_90::@simple_mul_inplace, @custom_dispatch_simple_mul::@sm_80::@simple_mul_inplace}[%lhs_0](%lhs, %rhs, %count) : (tensor<?xf32>{%lhs_0}, tensor<?xf32>{%rhs_0}, i32) -> (%rhs{%rhs_0})
  %keep = util.optimization_barrier %rhs : tensor<?xf32>
  func.return %rhs_new : tensor<?xf32>
}

util.func public @"simple_mul_inplace$async"(%input0: !hal.buffer_view, %input1: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> (!hal.buffer_view) attributes {iree.abi.stub, inlining_policy = #util.inline.never, iree.reflection = {iree.abi.declaration = "async func @simple_mul_inplace$async(%input0: tensor<?xf32>, %input1: tensor<?xf32>) -> (%output0: tensor<?xf32>)", iree.abi.model = "coarse-fences", custom_dispatch.inputs = "lhs,rhs", custom_dispatch.stateless = "true"}} {
  %v = hal.buffer_view.dim<%input0 : !hal.buffer_view>[0] : index
  %tensor = hal.tensor.import wait(%wait) => %input0 "input0" : !hal.buffer_view -> tensor<?xf32>{%v}
  %v_1 = hal.buffer_view.dim<%input1 : !hal.buffer_view>[0] : index
  %tensor_1 = hal.tensor.import wait(%wait) => %input1 "input1" : !hal.buffer_view -> tensor<?xf32>{%v_1}
  %result = func.call @"custom_dispatch_body_of_simple_mul_inplace"(%tensor, %tensor_1) : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
  %ready = hal.tensor.barrier join(%result : tensor<?xf32>) => %signal : !hal.fence
  %c0 = arith.constant 0 : index
  %v_2 = tensor.dim %ready, %c0 : tensor<?xf32>
  %exported = hal.tensor.export %ready "output0" : tensor<?xf32>{%v_2} -> !hal.buffer_view
  util.return %exported : !hal.buffer_view
}
util.func public @"simple_mul_inplace"(%input0: !hal.buffer_view, %input1: !hal.buffer_view) -> (!hal.buffer_view) attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @simple_mul_inplace(%input0: tensor<?xf32>, %input1: tensor<?xf32>) -> (%output0: tensor<?xf32>)", custom_dispatch.results = "f32"}} {
  %none = util.null : !hal.fence
  %c0 = arith.constant 0 : index
  %device = hal.devices.get %c0 : !hal.device
  %done = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  %output0 = util.call @"simple_mul_inplace$async"(%input0, %input1, %none, %done) : (!hal.buffer_view, !hal.buffer_view, !hal.fence, !hal.fence) -> (!hal.buffer_view)
  %i = arith.constant -1 : i32
  %status = hal.fence.await until([%done]) timeout_millis(%i) flags("None") : i32
  util.status.check_ok %status, "what was waited for has failed"
  util.return %output0 : !hal.buffer_view
}

func.func private @custom_dispatch_checks_of_simple_mul_inplace(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
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
  %v_5 = arith.cmpi ule, %v_4, %c2147483647 : index
  %v_6 = arith.xori %v_5, %true : i1
  scf.if %v_6 {
    %i3_2 = arith.constant 3 : i32
    util.status.check_ok %i3_2, "kernel `simple_mul_inplace`: grid.x = ceildiv(n, 64) is over CUDA's limit of 2147483647"
  }
  %c1 = arith.constant 1 : index
  %v_7 = arith.cmpi ugt, %v_4, %c0 : index
  %v_8 = tensor.empty(%rhs_0) : tensor<?xf32>
  func.return %v_8 : tensor<?xf32>
}

func.func private @custom_dispatch_dispatch_of_simple_mul_inplace(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %lhs_0 = tensor.dim %lhs, %c0 : tensor<?xf32>
  %rhs_0 = tensor.dim %rhs, %c0 : tensor<?xf32>
  %v = arith.cmpi eq, %rhs_0, %lhs_0 : index
  %c2147483647 = arith.constant 2147483647 : index
  %v_1 = arith.cmpi ule, %lhs_0, %c2147483647 : index
  %count = arith.index_castui %lhs_0 : index to i32
  %c64 = arith.constant 64 : index
  %v_2 = arith.ceildivui %lhs_0, %c64 : index
  %v_3 = arith.cmpi ule, %v_2, %c2147483647 : index
  %c1 = arith.constant 1 : index
  %v_4 = arith.cmpi ugt, %v_2, %c0 : index
  %rhs_new = flow.dispatch {@custom_dispatch_simple_mul::@sm_90::@simple_mul_inplace, @custom_dispatch_simple_mul::@sm_80::@simple_mul_inplace}[%lhs_0](%lhs, %rhs, %count) : (tensor<?xf32>{%lhs_0}, tensor<?xf32>{%rhs_0}, i32) -> (%rhs{%rhs_0})
  func.return %rhs_new : tensor<?xf32>
}

util.func public @"simple_mul_inplace$into"(%input0: !hal.buffer_view, %input1: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> () attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "async func @simple_mul_inplace$into(%input0: tensor<?xf32>, %input1: tensor<?xf32>) -> ()", iree.abi.model = "coarse-fences", custom_dispatch.updated = "1"}} {
  %v = hal.buffer_view.dim<%input0 : !hal.buffer_view>[0] : index
  %tensor = hal.tensor.import wait(%wait) => %input0 "input0" : !hal.buffer_view -> tensor<?xf32>{%v}
  %v_1 = hal.buffer_view.dim<%input1 : !hal.buffer_view>[0] : index
  %tensor_1 = hal.tensor.import wait(%wait) => consume %input1 "input1" : !hal.buffer_view -> tensor<?xf32>{%v_1}
  %result = func.call @"custom_dispatch_checks_of_simple_mul_inplace"(%tensor, %tensor_1) : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
  %c0 = arith.constant 0 : index
  %v_2 = tensor.dim %result, %c0 : tensor<?xf32>
  %v_3 = arith.cmpi ne, %v_2, %c0 : index
  scf.if %v_3 {
    %result_1 = func.call @"custom_dispatch_dispatch_of_simple_mul_inplace"(%tensor, %tensor_1) : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
    %ready = hal.tensor.barrier join(%result_1 : tensor<?xf32>) => %signal : !hal.fence
    %kept = util.optimization_barrier %ready : tensor<?xf32>
  } else {
    %i = arith.constant -1 : i32
    %status = hal.fence.await until([%wait]) timeout_millis(%i) flags("None") : i32
    util.status.check_ok %status, "what was waited for has failed"
    hal.fence.signal<%signal : !hal.fence>
  }
  util.return
}
