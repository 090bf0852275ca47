"""Fine-tuning: the job, its runs over seeds, and the hyperparameter search."""
