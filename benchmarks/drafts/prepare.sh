export CUSTOM_DISPATCH_STORE=/tmp/hP_store
(time timeout 140 python3 -m benchmarks gpu.sizes build /tmp/hP_b --every-form --only linear_bf16,matmul_bf16) 2>&1
(time timeout 100 python3 -m benchmarks gpu.sanitize build /tmp/hP_san --only 'gemm_align1|gemm_few_rows|gated_few') 2>&1
