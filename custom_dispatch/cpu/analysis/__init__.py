"""What is known of a kernel before it is lowered: graph, liveness, divergence, pointers, bounds."""
