export CUSTOM_DISPATCH_STORE=/tmp/hQ_store
for d in bf16 f16; do FORMS=check_$d.json timeout 30 python3 $J/m.py run /tmp/hQ_b_$d $O/c_$d.json int4,int4_zeros,q4_0,q4_1,q8_0,q4_k,int8,int8_groups,fp8,fp8_blocks 30 > $O/check_$d.log 2>&1 & done
wait
grep -h "WRONG\|DIFFERS\|Error\|fails" $O/check_*.log | cut -c1-150 | sort | uniq -c | sort -rn | head -20
FORMS=time.json timeout 15 python3 $J/m.py run /tmp/hQ_b_time $O/new.json int4,q8_0,q4_k,fp8,int8_groups 9 > $O/new.log 2>&1
FORMS=time.json timeout 15 python3 $J/m.py run /tmp/hQ_o_time $O/old.json int4,q8_0,q4_k,fp8,int8_groups 9 > $O/old.log 2>&1
paste -d"\n" <(cut -c1-75 $O/new.log) <(cut -c1-75 $O/old.log) | grep cublas
FORMS=tail.json timeout 14 python3 $J/m.py run /tmp/hQ_b_tail $O/tail.json int4,q8_0,fp8,int8,q4_0 9 > $O/tail.log 2>&1; grep -v "^plain" $O/tail.log | cut -c1-150
