"""How good the inference of the finite-rank model is: mixing, predictions, the rank."""
