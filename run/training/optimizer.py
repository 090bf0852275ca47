"""Creation of a run's optimizer from its settings."""

from bert_tf import optimization
from run.settings import AdamSettings

_ORIGINAL = AdamSettings()


def make_optimizer(optimizer, step, num_train_steps, num_warmup_steps, adam=_ORIGINAL):
    """Creates the optimizer. Call it in the strategy's scope.

    Args:
      optimizer: OptimizerSettings.
      step: StepSettings. Its precision determines whether the loss is scaled.
      num_train_steps: int. Step at which the learning rate reaches 0.
      num_warmup_steps: int. Number of warm-up steps.
      adam: AdamSettings.
    """
    return optimization.create_optimizer(
        optimizer.learning_rate, num_train_steps, num_warmup_steps, optimizer.optimizer,
        weight_decay=optimizer.weight_decay_rate, clip_norm=optimizer.clip_norm, no_decay=adam.no_weight_decay,
        decay_power=adam.decay_power, beta_1=adam.beta_1, beta_2=adam.beta_2, epsilon=adam.epsilon,
        scale_loss=step.mixed_precision == "float16")
