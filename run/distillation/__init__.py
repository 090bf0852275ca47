"""Distillation: the jobs of fine-tuning and of pre-training, with a teacher."""
