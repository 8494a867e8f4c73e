"""Searches for good parameters: trials that are jobs, followed by one stream of what they push."""
