func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @product(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @simple_mul(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @f(%q: tensor<1x2x8xf32>, %o: tensor<1x2x8xf32>, %m: tensor<1x2xf32>) -> tensor<1x2x8xf32> {
  %one = arith.constant 1.0 : f32
  %0:3 = iree_linalg_ext.online_attention <indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>, affine_map<(b, m, n, k1, k2) -> (b, m)>]>
      ins(%q, %q, %q, %one : tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, f32)
      outs(%o, %m, %m : tensor<1x2x8xf32>, tensor<1x2xf32>, tensor<1x2xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<1x2x8xf32>, tensor<1x2xf32>, tensor<1x2xf32>
  return %0#0 : tensor<1x2x8xf32>
}
