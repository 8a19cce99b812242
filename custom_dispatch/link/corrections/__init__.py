"""What IREE 3.13 computes wrongly, and what models get in its place."""
