// Every way in which an update in place could reach a buffer that is not the kernel's to change.
// Each function must leave its arguments as they were.

func.func private @simple_mul_inplace(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

// The buffer to update is the caller's, and the model never reads it again.
func.func @update_argument(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @simple_mul_inplace(%lhs, %rhs) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// The same, and the argument itself is a result too.
func.func @update_and_return(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = call @simple_mul_inplace(%lhs, %rhs) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0, %rhs : tensor<?xf32>, tensor<?xf32>
}

// Operands that are all constants: the compiler would evaluate the kernel itself, and has no GPU.
func.func @constants() -> tensor<8xf32> {
  %two = arith.constant dense<2.0> : tensor<8xf32>
  %count = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %lhs = tensor.cast %two : tensor<8xf32> to tensor<?xf32>
  %rhs = tensor.cast %count : tensor<8xf32> to tensor<?xf32>
  %0 = call @simple_mul_inplace(%lhs, %rhs) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Again and again on a value that goes around a loop.
func.func @in_a_loop(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %result = scf.for %i = %c0 to %c5 step %c1 iter_args(%value = %rhs) -> tensor<?xf32> {
    %next = func.call @simple_mul_inplace(%lhs, %value) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %next : tensor<?xf32>
  }
  return %result : tensor<?xf32>
}
