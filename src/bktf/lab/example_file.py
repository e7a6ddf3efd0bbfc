"""The commented space file that `bktf suggest --init` writes."""

EXAMPLE = """\
# What the experiment can vary, what is measured, and what must hold. Read by `bktf suggest`;
# nothing in it is executed.
#
# The table beside it (results.csv) has one row per experiment. Leave the result empty while the
# experiment is running, and write failed if it fails. Two equal rows are a repeated measurement.
# The columns predicted, uncertainty and reason are filled in with suggestions. A column status may
# say pending, done or failed. A line of the table that begins with # is a comment.

other_columns = ["operator", "note"]   # columns of the table that are yours: kept, not read

[objective]
name = "yield"             # the column of the table that holds the result
direction = "maximize"     # or "minimize"
unit = "%"                 # optional
# noise = 0.5              # optional: standard deviation of one measurement, where you know it
# repeats = true           # optional: let suggestions repeat a point, for noisy experiments

[parameters.temperature]
type = "float"             # any number from low to high
low = 20
high = 120
unit = "°C"

[parameters.time]
type = "float"
low = 0.5
high = 48
log = true                 # measured on a logarithmic scale: 1 → 2 is as far as 10 → 20
unit = "h"

[parameters.stirring]
type = "int"               # whole numbers; with a step, only low, low + step, …
low = 100
high = 1000
step = 50
unit = "rpm"

[parameters.dose]
type = "ordered"           # exactly these values, in this order
values = [0.1, 0.2, 0.5, 1.0]
unit = "mol"

[parameters.catalyst]
type = "category"          # one of these, in no order
values = ["Pd", "Ni", "Cu"]

# A parameter that only some experiments have: `when` names others and a value, a list of values, or
# {at_least = …, at_most = …}. Its cell stays empty in all other rows.
# [parameters.ligand]
# type = "category"
# values = ["A", "B"]
# when = { catalyst = ["Pd", "Ni"] }

# Linear constraints: the sum of factor × parameter must be at most, or at least, a number.
[[constraints]]
factors = { temperature = 1.0, stirring = 0.05 }
at_most = 150

# A mixture: amounts that sum to a total, with a step where you weigh in whole ones. Components need
# no table of their own; one with low and high limits the amount.
# [[mixtures]]
# parameters = ["resin", "filler", "water"]
# total = 100
# step = 5
# max_nonzero = 3          # optional: at most so many are used together

# Numbers that describe the choices of a category, in a table with a column of its name: choices
# that nobody has tried are then predicted from similar ones.
# [parameters.solvent]
# type = "category"
# values = ["water", "DMF"]
# descriptors = "solvents.csv"

# Results of earlier campaigns with other materials or machines, and where you expect the optimum.
# [earlier]
# files = ["last_year.csv"]
# [expected_optimum]
# temperature = { centre = 80, sd = 15 }
# catalyst = { Pd = 3, Ni = 1 }

# When you are done: with this confidence the best result is within the tolerance of the optimum.
# Or, with cost = 0.2, when one more experiment should gain less than that, in units of the result.
# [stop]
# tolerance = 1.0
# confidence = 0.8         # optional

# [model]
# rank = "auto"            # optional: or inf for a Gaussian process, or a number of components
# optimism = 1.0           # optional: where nothing is known, expect the average; 0.0: the worst
"""
