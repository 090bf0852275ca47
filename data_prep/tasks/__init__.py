"""Fine-tuning data sets as published -> features."""
