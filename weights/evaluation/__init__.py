"""What models and searches achieve: scores, tables, model cards, comparisons with other engines."""
