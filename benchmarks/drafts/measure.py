import json, sys, time, math, random, statistics
from pathlib import Path
import torch
import custom_dispatch as cd
from benchmarks.cases.product_sizes import Size, drawn
from benchmarks.gpu import sizes as S
from benchmarks.lib import gpu_objects
from benchmarks.lib.gpu_timing import in_turn, with_events
from cuda_kernels import gemm
from cuda_kernels.gemm.forms import forms_of
from cuda_kernels.gemm.sm90a import ClusterTile
from custom_dispatch.toolchain.tuned import table_of, tuned
from custom_dispatch.kernel.expected import Expected
from custom_dispatch.kernel.evaluation import holds

directory, out, mode, limit = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], float(sys.argv[4])
start = time.monotonic()
target = cd.Target.parse("cuda:sm_90a")
pool = S.Pool()
objects = gpu_objects.Objects(directory)
CH = {"linear": gemm.linear_bf16, "matmul": gemm.matmul_bf16}
tables = {}
for name, choice in CH.items():
    table = table_of(choice)
    tables[name] = next(m for m in table.measured if str(m.target) == "cuda:sm_90a")
old = {name: set(t.digests) for name, t in tables.items()}
forms = {name: {k.name: f for k, f in zip(CH[name].kernels, forms_of(name == "linear", "bf16"))} for name in CH}
expected = {name: Expected(CH[name].kernels, (tables[name],)) for name in CH}

X = [1.74809849e-06, 2.09932551e-06, 3.42396122e-08, 1.26306041e-11, 2.40265714e-14, 4.58019364e-14, 1.20075147e-10, 1.25096511e-06]
def crude(f, m, n, k):
    f = f.hopper
    c = f.rows * f.columns * f.split
    ctas = math.ceil(m / (f.m * f.rows)) * math.ceil(n / (f.n * f.columns)) * c
    places = 132 if c <= 2 else 117 if c == 3 else 120
    w = math.ceil(ctas / places)
    steps = math.ceil(k / 64 / f.split)
    l2 = (f.m / f.columns + f.n / f.rows) * 128
    return sum(p * q for p, q in zip(X, [1, w, w * steps, w * steps * f.m * f.n, ctas * steps * l2, 2 * (n * k + m * k + m * n), w * f.m * f.n, f.split > 1]))

def new_ones(name, m, n, k, best, factor):
    found = []
    for kernel in CH[name].kernels:
        if kernel.name in old[name]: continue
        f = forms[name][kernel.name]
        if not isinstance(f.hopper, ClusterTile): continue
        if f.hopper.m > 1.5 * m + 32: continue
        if not all(holds(c, {"batch": m, "n": n, "k": k}) for c in kernel.requires): continue
        if crude(f, m, n, k) <= factor * best: found.append(kernel)
    return found

def launches(kernel, operands):
    def one(t):
        native = objects.launch(kernel, str(target), t, into=[t["c"]]).native
        return lambda: native.enqueue(torch.cuda.current_stream().cuda_stream)
    return [one(t) for t in operands]

def unaligned(name, n, k): return bool(k % 8 or (n % 8 and name == "matmul"))
def align1_ones(name, m):
    return [k for k in CH[name].kernels if ("_align1" in k.name and not ("skinny" in k.name and m > 16))]
wrong = []
def checked(choice, kernels, operands, want):
    runs = {}
    for kernel in kernels:
        operands[0]["c"].fill_(torch.nan)
        ls = launches(kernel, operands)
        ls[0]()
        torch.cuda.synchronize()
        found, _ = S.problem("bf16", operands[0]["c"], want)
        if found:
            wrong.append((kernel.name, *operands[0]["a"].shape, operands[0]["c"].shape[1], found)); print("WRONG", wrong[-1], flush=True)
        else:
            runs[kernel.name] = ls
    return runs

results = []
if mode == "table":
    jobs = []
    for name in CH:
        for item in tables[name].sizes:
            m, n, k = item.dims["batch"], item.dims["n"], item.dims["k"]
            un = unaligned(name, n, k)
            near = item.seconds and any("_align1" in x and "skinny" not in x and v < 1.35 * min(item.seconds.values()) for x, v in item.seconds.items())
            if (m < 33 and not un and not near) or not item.seconds or 2 * m * n * k > 3e12 or m > 10000: continue
            jobs.append((name, Size(m, n, k, ""), item, near))
    random.Random(5).shuffle(jobs)
    jobs.sort(key=lambda j: 0 if unaligned(j[0], j[1].n, j[1].k) else 1)
    print(len(jobs), "jobs")
    for number, (name, size, item, near) in enumerate(jobs):
        if time.monotonic() - start > limit: print("stopped at", number, "of", len(jobs)); break
        choice = CH[name]
        by = {k.name: k for k in choice.kernels}
        best = min(item.seconds, key=item.seconds.get)
        if unaligned(name, size.n, size.k):
            kernels = align1_ones(name, size.m)
        else:
            kernels = [by[best], *new_ones(name, size.m, size.n, size.k, item.seconds[best], 1.15)]
            if near: kernels += [k for k in align1_ones(name, size.m) if "skinny" not in k.name and k.name != best]
        operands = pool.operands(choice, size)[:64]
        want = S.expected(choice, operands[0])
        runs = checked(choice, kernels, operands, want)
        del want
        times = {each: [] for each in runs}
        timers = {}
        for each, ls in runs.items():
            count = max(len(ls), 12)
            seq = [ls[i % len(ls)] for i in range(count)]
            timers[each] = (with_events(lambda seq=seq: [r() for r in seq]), count)
        for _ in range(4):
            for each, (t, count) in timers.items(): times[each].append(t() / count)
        results.append(dict(choice=name, m=size.m, n=size.n, k=size.k, table_best=best, table_s=item.seconds[best],
                            s={each: statistics.median(v[1:]) for each, v in times.items()}))
else:
    cases = []
    for seed in (7351, 9127):
        for size in drawn(seed, 44):
            for name in CH: cases.append((name, size))
    random.Random(3).shuffle(cases)
    cases.sort(key=lambda c: 0 if (c[1].m > 64 or c[1].of == "odd") else 1)
    print(len(cases), "cases")
    for number, (name, size) in enumerate(cases):
        if time.monotonic() - start > limit: print("stopped at", number, "of", len(cases)); break
        choice = CH[name]
        dims = {"batch": size.m, "n": size.n, "k": size.k}
        seconds = expected[name].seconds(dims)
        taken = expected[name].ranked(dims)[0]
        least = min(seconds.values())
        un = unaligned(name, size.n, size.k)
        factor = 1.5
        kernels = {taken.name: taken}
        for k in choice.kernels:
            if k.name in old[name] and seconds[k.name] <= factor * least: kernels.setdefault(k.name, k)
        if un:
            for k in align1_ones(name, size.m): kernels.setdefault(k.name, k)
        else:
            for k in new_ones(name, size.m, size.n, size.k, least, 1.15): kernels.setdefault(k.name, k)
        operands = pool.operands(choice, size)
        want = S.expected(choice, operands[0])
        runs = checked(choice, kernels.values(), operands, want)
        del want
        linear = name == "linear"
        def beside(t):
            right = t["b"].t() if linear else t["b"]
            return lambda: torch.matmul(t["a"], right, out=t["c"])
        us = in_turn({"torch": [beside(t) for t in operands], **runs}, 5)
        results.append(dict(choice=name, m=size.m, n=size.n, k=size.k, of=size.of, taken=taken.name, us=us, predicted=seconds[taken.name]))
(out / f"{mode}.json").write_text(json.dumps(results))
print(len(wrong), "wrong", wrong[:10])
print("seconds", time.monotonic() - start)
if mode == "sizes":
    def short(x): return x.split("_bf16_")[-1].split("_sm80")[0]
    rows = []
    for r in results:
        us = r["us"]; t = us["torch"]
        mine = {k: v for k, v in us.items() if k != "torch"}
        oldb = min((v, k) for k, v in mine.items() if k in old[r["choice"]])
        b = min((v, k) for k, v in mine.items())
        rows.append((t / mine[r["taken"]], t / oldb[0], t / b[0], r, oldb, b))
    rows.sort(key=lambda x: x[0])
    for a, o, n, r, oldb, b in rows[:60]:
        print(f"{a:.3f} {o:.3f} {n:.3f} {r['choice']} {r['m']}x{r['n']}x{r['k']} taken {short(r['taken'])} {r['us'][r['taken']]:.1f} old {short(oldb[1])} {oldb[0]:.1f} best {short(b[1])} {b[0]:.1f} cublas {r['us']['torch']:.1f}")
    from benchmarks.lib.size_rows import RANGES
    for lo, hi in RANGES:
        some = [x for x in rows if lo <= x[3]["m"] <= hi and x[3]["of"] != "odd"]
        if some: print(lo, hi, len(some), *(f"{statistics.geometric_mean(x[i] for x in some):.3f}" for i in (0, 1, 2)))
    some = [x for x in rows if x[3]["of"] == "odd"]
    if some: print("odd", len(some), *(f"{statistics.geometric_mean(x[i] for x in some):.3f}" for i in (0, 1, 2)))
