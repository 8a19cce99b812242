"""Checked mode: what it watches, finds, and says."""
