"""Intermediate representation: objects as executables, and the typed functions around them."""
