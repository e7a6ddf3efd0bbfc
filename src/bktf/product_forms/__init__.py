"""What holds for every sum of products over axes: values, moments and exact maxima."""
