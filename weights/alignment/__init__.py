"""Word alignment: links of a text, alignment heads, and their error rate."""
