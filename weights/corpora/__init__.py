"""Corpora: reading them, and making them from Debian packages."""
