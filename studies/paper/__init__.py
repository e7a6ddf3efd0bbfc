"""The paper's experiments: python -m studies.paper."""
