"""What the declarations of several kernels share."""
