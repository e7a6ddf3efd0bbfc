"""What holds for every sum of products over axes: values, moments and exact maxima."""

from bktf.product_forms import cp_tensors
from bktf.product_forms.best_first_maximum import Found, bound_boxes, maximum_over_draws
from bktf.product_forms.cp_forms import Forms, make_forms
from bktf.product_forms.cp_tensors import Moments

__all__ = ["Forms", "Found", "Moments", "bound_boxes", "cp_tensors", "make_forms", "maximum_over_draws"]
