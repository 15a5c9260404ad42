"""Reading SQL: statements, order, replies."""
