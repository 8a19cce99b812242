"""Speed and memory bars, as ratios measured in one run; `python -m benchmarks` lists them."""
