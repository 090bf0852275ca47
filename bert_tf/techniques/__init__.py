"""Training techniques that attach to a model.

These are LoRA, freezing, masks, int8, distillation, and BERT-of-Theseus.
"""
