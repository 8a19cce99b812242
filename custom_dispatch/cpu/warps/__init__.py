"""A warp's threads as lanes of vectors."""
