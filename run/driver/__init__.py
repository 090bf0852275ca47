"""What the drivers share: flags, strategies, input pipelines, training and evaluation loops."""
