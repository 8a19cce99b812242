# run after forms.py has the final forms
exec(open('/tmp/hP_merge.py').read().split('if __name__')[0])
from custom_dispatch.toolchain.library import Library
final = {}
places_cache = {}
for name, choice in CH.items():
    M = merged(name)
    known = {k.name for k in choice.kernels}
    sizes = []
    for s in M.sizes:
        sizes.append(MeasuredSizes(s.dims, tuple(x for x in s.results if x.kernel in known)))
    digests = {}
    distinct_names = set(tables[name].digests)
    used = {x.kernel for s in sizes for x in s.results}
    for k in choice.kernels:
        if k.name in used: digests[k.name] = digest_of(k, target)
    changed = [k for k in digests if k in tables[name].digests and digests[k] != tables[name].digests[k]]
    gone = [k for k in tables[name].digests if k not in digests]
    print(name, "changed", [short(x) for x in changed], "gone", [short(x) for x in gone], "new", [short(x) for x in digests if x not in tables[name].digests])
    places = {k: m.places for k, m in tables[name].models.items()}
    for k in choice.kernels:
        f = k.for_target(target)
        if k.name in digests and (k.name not in tables[name].models or "align1" in str(f.source)):
            lib = cd.build(k, [target], image="cubin", jobs=1)
            occ = lib.report()[0].occupancy
            places[k.name] = (occ.blocks if occ else 1) * 132
            print(short(k.name), places[k.name], tables[name].models.get(k.name) and tables[name].models[k.name].places)
    # the search of places begins at the most
    most = {}
    for k in choice.kernels:
        if k.name in places: most[k.name] = places[k.name] if k.name not in tables[name].models or "align1" in k.name else max(132, tables[name].models[k.name].places)
    M2 = replace(M, sizes=tuple(sizes), digests=digests)
    M3 = fitted(choice, M2, most)
    for seed in range(3):
        q = quality(choice, M3, seed); print(name, "quality", q)
    final[name] = M3
    path = choice.tuning
    table = table_of(choice)
    others = [m for m in table.measured if str(m.target) != str(target)]
    new = [M3 if str(m.target) == str(target) else m for m in table.measured]
    write_atomically(path, TuningTable(choice.name, tuple(new)).text().encode())
    print("written", path)
