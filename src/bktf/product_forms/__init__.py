"""Operations on any sum of products: values, moments, exact maxima over a grid."""

from bktf.product_forms import cp_tensors
from bktf.product_forms.axis_ascent import MAX_PASSES, best_allowed, best_few_allowed, climb_once
from bktf.product_forms.best_first_maximum import FormMaximum, bound_boxes, maximum_over_draws
from bktf.product_forms.cp_forms import Forms, make_forms
from bktf.product_forms.cp_tensors import Moments

__all__ = [
    "MAX_PASSES",
    "FormMaximum",
    "Forms",
    "Moments",
    "best_allowed",
    "best_few_allowed",
    "bound_boxes",
    "climb_once",
    "cp_tensors",
    "make_forms",
    "maximum_over_draws",
]
