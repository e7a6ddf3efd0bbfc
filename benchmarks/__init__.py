"""Speed of bktf against straightforward implementations, as ratios within one run."""
