// A feed-forward layer as MLIR: y = x + swiglu(x gate, x up). The products and the sum are the
// compiler's. The kernel is declared as a private function without a body; linking gives it one.

func.func private @swiglu_f32(tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>

func.func @feed_forward(%x: tensor<?x64xf32>, %gate: tensor<64x64xf32>, %up: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %0 = linalg.matmul ins(%x, %gate : tensor<?x64xf32>, tensor<64x64xf32>)
                     outs(%zeros : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = linalg.matmul ins(%x, %up : tensor<?x64xf32>, tensor<64x64xf32>)
                     outs(%zeros : tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = tensor.cast %0 : tensor<?x64xf32> to tensor<?x?xf32>
  %3 = tensor.cast %1 : tensor<?x64xf32> to tensor<?x?xf32>
  %4 = call @swiglu_f32(%2, %3) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %5 = tensor.cast %4 : tensor<?x?xf32> to tensor<?x64xf32>
  %y = arith.addf %x, %5 : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
