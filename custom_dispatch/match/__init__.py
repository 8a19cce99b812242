"""The one matcher: finds the places of a model that compute what a kernel does, in MLIR."""
