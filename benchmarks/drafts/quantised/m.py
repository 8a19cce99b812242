"""build DIR formats | run DIR OUT formats seconds"""
import sys, time, json, statistics
from pathlib import Path
import custom_dispatch as cd
from benchmarks.lib import gpu_objects
from benchmarks.gpu import quantised as bq
from cuda_kernels.quantised import formats, many
from cuda_kernels.quantised.many import WarpgroupTile as W, ON_SM_80
FORMATS = {f.name: f for f in vars(formats).values() if isinstance(f, formats.Format)}
def tile(text):
    return W(*map(int, text.split(".")))
LISTS = json.loads((Path(__file__).parent / __import__("os").environ.get("FORMS", "forms.json")).read_text())
def kernels(name):
    for text in LISTS["forms"]:
        t = tile(text)
        yield many.declare_kernel(FORMATS[name], LISTS["dtype"], t.name, next(iter(ON_SM_80.values())), t)
def build(out, names):
    for name in names:
        lib = cd.build(list(kernels(name)), ["cuda:sm_90a"], image="cubin")
        gpu_objects.write(Path(out) / name, [lib])
def run(out, save, names, seconds):
    import torch
    from benchmarks.lib.gpu_timing import in_graph
    start = time.time(); rows = []
    kind = LISTS["dtype"]; dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[kind]
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    def graph_us(once, count):
        torch.cuda.synchronize()
        g = in_graph(lambda: [once(i) for i in range(count)])
        for _ in range(2): g()
        ts = []
        for _ in range(5):
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(300000)
            a.record(); g(); b.record(); b.synchronize(); ts.append(a.elapsed_time(b) * 1e3 / count)
        return statistics.median(ts)
    plain = {}
    fails = 0
    for n, k in LISTS["shapes"]:
        sets = max(2, min(8, int(120e6 / (n * k))))
        ws = [torch.randn(n, k, device="cuda").to(dtype) for _ in range(sets)]
        for m in LISTS["rows"]:
            xs = [torch.randn(m, k, device="cuda").to(dtype) for _ in range(2)]
            count = 32 if m < 1000 else 12
            plain[n, k, m] = graph_us(lambda i: torch.mm(xs[i % 2], ws[i % sets].T), count)
        del ws
    print("plain", {f"{a}": round(b, 1) for a, b in plain.items()}, round(time.time() - start, 1), flush=True)
    whole = seconds
    for number, name in enumerate(names):
        seconds = (number + 1) / len(names) * whole
        launcher = bq.Launcher(Path(out) / name)
        own = list(kernels(name))
        group = 128 if name in bq.GROUPED else 32
        for n, k, m, off, *of_group in LISTS["checks"]:
            if name == "q4_k": k = -(-k // 256) * 256
            g = of_group[0] if of_group and name in bq.GROUPED else 32 if k % 128 else group
            w = bq.weights_of(name, kind, n, k, g, off); x = torch.randn(m * k + off, device="cuda").to(dtype)[off:].view(m, k)
            for kern in own:
                L = launcher._objects.launch(kern, launcher.target, (x, *w.operands)); l, res, guard = L.native, L.results[0], L.guards[0]; l.run(); torch.cuda.synchronize()
                p = bq.wrong(x, w, res, guard, kind, rounds=bq.rounds(kern))
                if not p:
                    once = res.clone()
                    for _ in range(3):
                        res.fill_(float("nan")); l.run(); torch.cuda.synchronize()
                        if not torch.equal(once, res): p = "differs from run to run"
                if p: fails += 1; print("WRONG", name, kern.name, n, k, m, p, flush=True)
        for n, k in LISTS["shapes"]:
            if time.time() - start > seconds: break
            sets = max(2, min(8, int(200e6 / (n * k))))
            ws = [bq.weights_of(name, kind, n, k, group) for _ in range(sets)]
            for m in LISTS["rows"]:
                if time.time() - start > seconds: break
                x = torch.randn(m, k, device="cuda").to(dtype); found = {}
                count = 32 if m < 1000 else 12
                for kern, text in zip(own, LISTS["forms"]):
                    t = tile(text)
                    if t.columns >= 2 * max(m, 32) or (m > 500 and (t.columns < 128 or t.split > 1)) or (m > 1500 and t.columns < 192): continue
                    if t.split > 1 and -(-n // 128) * -(-m // t.columns) * t.split > 400: continue
                    Ls = [launcher._objects.launch(kern, launcher.target, (x, *w.operands)) for w in ws]; ls = [(L.native, L.results[0], L.guards[0]) for L in Ls]
                    ls[0][0].run(); torch.cuda.synchronize()
                    once = ls[0][1].clone()
                    us = graph_us(lambda i: ls[i % sets][0].enqueue(torch.cuda.current_stream().cuda_stream), count)
                    found[text] = us; rows.append((name, n, k, m, text, us, plain[n, k, m]))
                    if not torch.equal(once, ls[0][1]): fails += 1; print("DIFFERS", name, text, n, k, m, flush=True)
                    del ls, Ls
                p = plain[n, k, m]
                best = min(found, key=found.get)
                print(f"{name:10} {n:5}x{k:5} {m:5} cublas {p:6.1f} best {best} {found[best]:6.1f} ({p/found[best]:.2f}) | " + " ".join(f"{f}:{v:.1f}" for f, v in found.items()), flush=True)
            del ws
    Path(save).write_text(json.dumps(rows)); print("fails", fails, "checks of", names, "s", time.time() - start)
if __name__ == "__main__":
    if sys.argv[1] == "build": build(sys.argv[2], sys.argv[3].split(","))
    else: run(sys.argv[2], sys.argv[3], sys.argv[4].split(","), float(sys.argv[5]))
