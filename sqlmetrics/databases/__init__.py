"""Running untrusted SQL within limits, one file an engine."""
