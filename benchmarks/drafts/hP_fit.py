exec(open('/tmp/hP_dry.py').read().split("tot=0")[0])
import numpy as np
rows=[]
for name in CH:
    for item in tables[name].sizes:
        m,n,k=item.dims["batch"],item.dims["n"],item.dims["k"]
        if m<33 or unaligned(name,n,k) or 2*m*n*k>3e12 or m>10000 or not item.seconds: continue
        best=min(item.seconds.values())
        for kn,s in item.seconds.items():
            f=forms[name][kn].hopper
            if isinstance(f,ClusterTile) and s<2*best and f.m>=96:
                ctas=math.ceil(m/(f.m*f.rows))*math.ceil(n/(f.n*f.columns))*f.rows*f.columns*f.split
                places=132 if f.rows*f.columns*f.split<=2 else 120
                w=math.ceil(ctas/places); steps=math.ceil(k/64/f.split)
                frac=min(1,ctas/132)
                by=2*(n*k+m*k+m*n)
                # L2 traffic per step
                l2=(f.m/f.columns+f.n/f.rows)*128
                rows.append((s,[1,w,w*steps,w*steps*f.m*f.n, ctas*steps*l2, by, w*f.m*f.n,(f.split>1)],kn.split('bf16_')[1].split('_sm80')[0],(m,n,k)))
y=np.array([r[0] for r in rows]); A=np.array([r[1] for r in rows],float)
from custom_dispatch.measure.time_fit import not_negative
x=not_negative(A/y[:,None],np.ones(len(y)))
p=A@x; e=np.log(p/y)
print(len(rows),x, np.std(e), np.percentile(e,[2,10,50,90,98]))
from collections import defaultdict
d=defaultdict(list)
for r,ee in zip(rows,e): d[r[2]].append(ee)
for k,v in d.items(): print(k,len(v),round(np.mean(v),3),round(np.std(v),3))
np.save('/tmp/hP_x.npy',x)
