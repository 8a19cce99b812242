// Two choices made as the model runs, and a loop: of tests/sample_kernels/choices.py, for the GPU suite.

func.func private @turned(tensor<?xf32>) -> tensor<?xf32>
func.func private @where_it_ran(tensor<?xf32>) -> tensor<?x4xi32>
func.func private @incremented(tensor<?xf32>) -> tensor<?xf32>

func.func @choices(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?x4xi32>) {
  %y = call @turned(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %z = call @where_it_ran(%y) : (tensor<?xf32>) -> tensor<?x4xi32>
  return %y, %z : tensor<?xf32>, tensor<?x4xi32>
}

func.func @loop(%x: tensor<?xf32>, %turns: i32) -> tensor<?xf32> {
  %first = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %last = scf.for %turn = %first to %turns step %step iter_args(%y = %x) -> (tensor<?xf32>) : i32 {
    %a = func.call @turned(%y) : (tensor<?xf32>) -> tensor<?xf32>
    %b = func.call @incremented(%a) : (tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  return %last : tensor<?xf32>
}
