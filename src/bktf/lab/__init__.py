"""The lab loop: a space file and a table of results in, the next experiments out."""

from bktf.lab.results_table import append_rows
from bktf.lab.space_file import LabError, as_text
from bktf.lab.suggest import answer, as_json, as_lines, as_rows, draw, explain, write_examples

__all__ = ["LabError", "answer", "append_rows", "as_json", "as_lines", "as_rows", "as_text", "draw", "explain", "write_examples"]
