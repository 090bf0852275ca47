"""Training techniques that attach to a model: LoRA, freezing, masks, int8, distillation,
BERT-of-Theseus."""
