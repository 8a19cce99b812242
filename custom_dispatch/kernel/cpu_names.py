"""LLVM's names of CPUs, as the compiler of IREE 3.13 lists them where it is given another."""

from __future__ import annotations

_X86_64 = """
nocona core2 penryn bonnell atom silvermont slm goldmont goldmont-plus tremont nehalem
corei7 westmere sandybridge corei7-avx ivybridge core-avx-i haswell core-avx2 broadwell
skylake skylake-avx512 skx cascadelake cooperlake cannonlake icelake-client rocketlake
icelake-server tigerlake sapphirerapids alderlake raptorlake meteorlake arrowlake
arrowlake-s lunarlake gracemont pantherlake wildcatlake novalake sierraforest grandridge
graniterapids graniterapids-d emeraldrapids clearwaterforest diamondrapids knl knm k8
athlon64 athlon-fx opteron k8-sse3 athlon64-sse3 opteron-sse3 amdfam10 barcelona btver1
btver2 bdver1 bdver2 bdver3 bdver4 znver1 znver2 znver3 znver4 znver5 znver6 c86-4g-m4
c86-4g-m6 c86-4g-m7 c86-4g-m8 x86-64 x86-64-v2 x86-64-v3 x86-64-v4
"""
_ARM_64 = """
a64fx ampere1 ampere1a ampere1b ampere1c apple-a10 apple-a11 apple-a12 apple-a13 apple-a14
apple-a15 apple-a16 apple-a17 apple-a18 apple-a19 apple-a7 apple-a8 apple-a9 apple-m1
apple-m2 apple-m3 apple-m4 apple-m5 apple-s10 apple-s4 apple-s5 apple-s6 apple-s7 apple-s8
apple-s9 armagicpu c1-nano c1-premium c1-pro c1-ultra c2-pro c2-ultra carmel cobalt-100
cortex-a320 cortex-a34 cortex-a35 cortex-a510 cortex-a520 cortex-a520ae cortex-a53
cortex-a55 cortex-a57 cortex-a65 cortex-a65ae cortex-a710 cortex-a715 cortex-a72
cortex-a720 cortex-a720ae cortex-a725 cortex-a73 cortex-a75 cortex-a76 cortex-a76ae
cortex-a77 cortex-a78 cortex-a78ae cortex-a78c cortex-r82 cortex-r82ae cortex-x1 cortex-x1c
cortex-x2 cortex-x3 cortex-x4 cortex-x925 cyclone exynos-m3 exynos-m4 exynos-m5 falkor
fujitsu-monaka gb10 grace hip12 kryo neoverse-512tvb neoverse-e1 neoverse-n1 neoverse-n2
neoverse-n3 neoverse-v1 neoverse-v2 neoverse-v3 neoverse-v3ae olympus oryon-1 rigel saphira
thunderx thunderx2t99 thunderx3t110 thunderxt81 thunderxt83 thunderxt88 tsv110
"""

X86_64 = tuple(_X86_64.split())
ARM_64 = tuple(_ARM_64.split())
