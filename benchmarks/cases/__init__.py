"""What benchmarks run: models, inputs, and what must come out."""
