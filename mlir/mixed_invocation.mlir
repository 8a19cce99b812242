// A model that mixes hand-written kernels with code that the compiler generates. Each kernel is
// declared as a private function without a body; linking gives it one.
//
// For two vectors of the same size: product = lhs * rhs; sum = product + rhs; result = sum * product.
// 8 x 2.0 and 8 x 4.0 give 8 x 96.0.

func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func private @simple_mul_inplace(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

func.func @mixed_invocation(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %product = call @simple_mul(%lhs, %rhs) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %sum = arith.addf %product, %rhs : tensor<?xf32>
  %result = call @simple_mul_inplace(%product, %sum) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %result : tensor<?xf32>
}
