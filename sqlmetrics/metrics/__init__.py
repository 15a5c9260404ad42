"""The metrics, one file each, and what they share."""
