"""Speed and memory bars, as ratios measured in one run.

Each module is a program:

python -m benchmarks.import_time [--save]
python -m benchmarks.compile_time [--save]
python -m benchmarks.cpu_elementwise [--save]
"""
