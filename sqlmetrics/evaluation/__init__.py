"""Whole data sets: samples, formats, runs, summaries, reports."""
