"""What a module of ours says of itself, as it is written when compiled and read when loaded."""
