"""PTX of a device function as operations of `arith`, `math` and `scf` on numbers."""
