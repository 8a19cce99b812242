"""PTX instructions as operations of the LLVM dialect, a module for each family."""
