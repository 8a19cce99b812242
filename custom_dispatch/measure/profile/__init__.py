"""Where the time of a function's calls goes."""
