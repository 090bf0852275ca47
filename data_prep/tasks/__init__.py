"""Fine-tuning data sets as published -> features, and predictions -> the files that are asked for; a module each."""
