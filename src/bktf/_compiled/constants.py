"""Numbers of floating-point arithmetic and of the standard normal distribution."""

MACHINE_EPSILON = 2.220446049250313e-16  # 2⁻⁵²
SQRT_HALF = 0.7071067811865476  # 1 / √2
INV_SQRT_2PI = 0.3989422804014327  # 1 / √(2π), the standard normal density at 0
HALF_LOG_2PI = 0.9189385332046727  # ½·log 2π
