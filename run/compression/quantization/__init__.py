"""What int8 costs: a fine-tuned model's score with each of its matrices rounded alone."""
