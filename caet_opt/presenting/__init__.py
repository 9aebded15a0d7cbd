"""Numbers for people: tables, figures, curves, pages."""
