import json, math, statistics, sys
from dataclasses import replace
import numpy as np
import custom_dispatch as cd
from cuda_kernels import gemm
from cuda_kernels.gemm.forms import forms_of
from custom_dispatch.kernel.tuning import MeasuredSizes, Result
from custom_dispatch.kernel.tuning_table import TuningTable
from custom_dispatch.measure.time_fit import fitted, quality
from custom_dispatch.toolchain.tuned import table_of, digest_of
from custom_dispatch.files import write_atomically
target = cd.Target.parse("cuda:sm_90a")
O = "/work/main/build/gpu/q/hP/out/"
CH = {"linear": gemm.linear_bf16, "matmul": gemm.matmul_bf16}
found = json.load(open(O + "table.json"))
def un(name, n, k): return bool(k % 8 or (n % 8 and name == "matmul"))
def short(x): return x.split("_bf16_")[-1].split("_sm80")[0] + ("!" if "align1" in x else "")
tables = {}
for name, choice in CH.items():
    tables[name] = next(m for m in table_of(choice).measured if str(m.target) == str(target))
# drift
r = [f["table_s"] / f["s"][f["table_best"]] for f in found if not un(f["choice"], f["n"], f["k"]) and f["table_best"] in f["s"]]
print("drift", len(r), np.percentile(r, [5, 25, 50, 75, 95]))
def merged(name):
    by = {(f["m"], f["n"], f["k"]): f for f in found if f["choice"] == name}
    sizes = []
    for item in tables[name].sizes:
        d = item.dims; m, n, k = d["batch"], d["n"], d["k"]
        f = by.get((m, n, k)); res = {x.kernel: x for x in item.results}
        if f:
            if un(name, n, k): scale = 1.0
            else: scale = f["table_s"] / f["s"][f["table_best"]] if f["table_best"] in f["s"] else 1.0
            for kern, s in f["s"].items():
                if kern == f["table_best"] and not un(name, n, k): continue
                res[kern] = Result(kern, s * scale)
        sizes.append(MeasuredSizes(d, tuple(res.values())))
    return replace(tables[name], sizes=tuple(sizes))
if __name__ == "__main__":
    for name in CH:
        old = set(tables[name].digests)
        M = merged(name)
        new = sorted({k for s in M.sizes for k in s.seconds} - old)
        for kind in ("aligned", "unaligned"):
            rows = [s for s in M.sizes if s.seconds and (un(name, s.dims["n"], s.dims["k"]) == (kind == "unaligned")) and (s.dims["batch"], s.dims["n"], s.dims["k"]) in {(f["m"], f["n"], f["k"]) for f in found if f["choice"] == name}]
            if not rows: continue
            base = np.array([min([v for k, v in s.seconds.items() if k in old], default=math.inf) for s in rows])
            if kind == "unaligned":
                before = {tuple(s.dims.values()): min(s.seconds.values()) for s in tables[name].sizes if s.seconds}
                b0 = np.array([before[tuple(s.dims.values())] for s in rows])
                print(name, kind, "old table best over now's best of old forms", np.exp(np.log(b0 / base).mean()), (b0 / base).min(), (b0 / base).max())
                base_all = base
            ms = np.array([s.dims["batch"] for s in rows]); cur = np.log(base); start = cur.copy()
            P = {k: np.log(np.array([s.seconds.get(k, 1e3) for s in rows])) for k in new}
            print(name, kind, len(rows))
            for _ in range(9):
                g, b = max((np.maximum(cur - P[k], 0).mean(), k) for k in new)
                if g < 0.0008: break
                cur = np.minimum(cur, P[b])
                print("  ", short(b), round(g, 4), [round(float(np.exp((start - cur)[(ms >= a) & (ms <= z)].mean())), 3) for a, z in ((1, 16), (17, 64), (65, 256), (257, 1024), (1025, 10000)) if ((ms >= a) & (ms <= z)).any()])
