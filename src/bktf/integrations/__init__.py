"""Integrations with other libraries: one file each, each an extra."""
