"""Operations on any sum of products: values, moments, exact maxima over a grid."""

from bktf.product_forms import cp_values
from bktf.product_forms.averaged_paths import AveragedPaths, average_products
from bktf.product_forms.axis_ascent import MAX_PASSES, best_allowed, best_few_allowed, climb_once
from bktf.product_forms.axis_integrals import (
    AxisMoments,
    axis_means,
    axis_moments,
    panel_rule,
)
from bktf.product_forms.axis_measures import UNIFORM, AxisMeasure
from bktf.product_forms.best_first_maximum import FormMaximum, bound_boxes, maximum_over_draws
from bktf.product_forms.cp_values import Moments
from bktf.product_forms.maximum_forms import Forms, make_forms
from bktf.product_forms.path_terms import (
    JoinedPaths,
    PathTerms,
    Pieces,
    ProductPaths,
    RealMoments,
    SummedPaths,
    evaluate_terms,
)

__all__ = [
    "MAX_PASSES",
    "UNIFORM",
    "AveragedPaths",
    "AxisMeasure",
    "AxisMoments",
    "FormMaximum",
    "Forms",
    "JoinedPaths",
    "Moments",
    "PathTerms",
    "Pieces",
    "ProductPaths",
    "RealMoments",
    "SummedPaths",
    "average_products",
    "axis_means",
    "axis_moments",
    "best_allowed",
    "best_few_allowed",
    "bound_boxes",
    "climb_once",
    "cp_values",
    "evaluate_terms",
    "make_forms",
    "maximum_over_draws",
    "panel_rule",
]
