"""Bridges to other libraries, one file each, each an extra."""
