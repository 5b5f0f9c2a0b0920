"""Measures models and searches: scores, tables, model cards, comparisons with other engines."""
