"""What a run's retrievals and scores tell about where it failed: evidence found, causes, and a curve by budget."""
