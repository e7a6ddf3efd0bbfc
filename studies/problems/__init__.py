"""The problems of both studies: a search space, a function to minimise, and what is known of its optimum."""
