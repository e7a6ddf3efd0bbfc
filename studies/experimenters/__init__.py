"""What experimenters have: earlier campaigns, beliefs, descriptors, mixtures, candidate lists."""
