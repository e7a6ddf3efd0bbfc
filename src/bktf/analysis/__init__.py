"""What a posterior says beyond predictions."""

from bktf.analysis.leave_one_out import LeaveOneOut, leave_one_out

__all__ = [
    "LeaveOneOut",
    "leave_one_out",
]
