"""Fine-tuning: what all tasks share, and a module a task in `tasks`."""
