"""Two result tables, compared: pure, without databases, pandas or models."""
