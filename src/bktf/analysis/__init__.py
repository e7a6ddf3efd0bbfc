"""What a posterior says beyond predictions."""
