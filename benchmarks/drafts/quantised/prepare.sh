export CUSTOM_DISPATCH_STORE=/tmp/hQ_store
rm -rf /tmp/hQ_b* /tmp/hQ_o*; D=/tmp/hQ_old; mkdir -p $D; tar xzf $J/old.tgz -C $D
for f in int4 int4_zeros q4_0 q4_1 q8_0 q4_k int8 int8_groups fp8 fp8_blocks; do
  for d in bf16 f16; do FORMS=check_$d.json python3 $J/m.py build /tmp/hQ_b_$d $f > $O/build_${d}_$f.log 2>&1 & done
done
for f in int4 q8_0 q4_k fp8 int8_groups; do
  FORMS=time.json python3 $J/m.py build /tmp/hQ_b_time $f > $O/build_time_$f.log 2>&1 &
  (cd $D; export PYTHONPATH=$D:${PYTHONPATH#*:}; FORMS=time.json python3 $J/m.py build /tmp/hQ_o_time $f) > $O/build_old_$f.log 2>&1 &
done
D=/tmp/hQ_tail; rm -rf $D; mkdir -p $D; tar xzf $J/tail.tgz -C $D
for f in int4 q8_0 fp8 int8 q4_0; do
  (cd $D; export PYTHONPATH=$D:${PYTHONPATH#*:}; FORMS=tail.json python3 $J/m.py build /tmp/hQ_b_tail $f) > $O/build_tail_$f.log 2>&1 &
done
wait
ls /tmp/hQ_b_bf16 /tmp/hQ_b_f16 /tmp/hQ_b_time /tmp/hQ_o_time
