"""The lab loop: a space file and a table of results in, the next experiments out."""

from bktf.lab.answer_text import as_json, as_lines, as_rows, explain, plot_answer, write_examples
from bktf.lab.lab_space import LabError, as_text
from bktf.lab.results_table import append_rows
from bktf.lab.suggest import Answer, answer

__all__ = [
    "Answer",
    "LabError",
    "answer",
    "append_rows",
    "as_json",
    "as_lines",
    "as_rows",
    "as_text",
    "explain",
    "plot_answer",
    "write_examples",
]
