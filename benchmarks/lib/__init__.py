"""What benchmarks share: ratios against bars, objects for a GPU, launches and their times."""
