"""Operations on any sum of products: values, moments, exact maxima over a grid."""

from bktf.product_forms import cp_values
from bktf.product_forms.axis_ascent import MAX_PASSES, best_allowed, best_few_allowed, climb_once
from bktf.product_forms.best_first_maximum import FormMaximum, bound_boxes, maximum_over_draws
from bktf.product_forms.cp_values import Moments
from bktf.product_forms.maximum_forms import Forms, make_forms

__all__ = [
    "MAX_PASSES",
    "FormMaximum",
    "Forms",
    "Moments",
    "best_allowed",
    "best_few_allowed",
    "bound_boxes",
    "climb_once",
    "cp_values",
    "make_forms",
    "maximum_over_draws",
]
