"""Speed: ours against straightforward implementations, as ratios within one run."""
