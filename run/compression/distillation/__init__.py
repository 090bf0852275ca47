"""Distillation of a fine-tuned model: settings, the teacher, what it answers, the task that learns from it, the job."""
