export CUSTOM_DISPATCH_STORE=/tmp/hP_store
date +%T
python3 $J/measure.py /tmp/hP_b $O table 52 > $O/table.log 2>&1; tail -2 $O/table.log; date +%T
python3 $J/measure.py /tmp/hP_b $O sizes 36 > $O/sizes.log 2>&1; tail -12 $O/sizes.log; date +%T
timeout 45 python3 -m benchmarks gpu.sanitize run /tmp/hP_san --only 'gemm_align1|gemm_few_rows|gated_few' --save $O/sanitizer.txt > $O/sanitize.log 2>&1; tail -8 $O/sanitize.log; date +%T
