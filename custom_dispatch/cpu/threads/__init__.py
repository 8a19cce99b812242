"""A block's threads as functions: registers, memory, barriers, scheduling."""
