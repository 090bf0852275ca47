"""Magnitude pruning: sets weights of the encoder's matrices to 0 during training."""

from bert_tf.techniques import sparsity
from run.techniques.base import Technique


class WeightPruning(Technique):
    """The technique of WeightPruningSettings."""

    def __init__(self, settings):
        self._settings = settings

    def build(self, build):
        """See Technique."""
        if build.steps is not None:
            sparsity.prune_in_training(self._make_schedule(build.steps), build.model.encoder, build.optimizer)

    def counts_from(self, steps):
        """See Technique. Returns the end of the schedule."""
        return self._make_schedule(steps).end

    def finish(self, build, folder, is_chief):
        """See Technique. Reports how many weights remain."""
        if build.steps is None:
            return
        stay, total = sparsity.count_remaining_weights(build.model.encoder)
        size, compressed = sparsity.measure_compressed_size(build.model.trainable_variables)
        print(f"{folder}: {stay:,} of {total:,} weights of the encoder's matrices are nonzero ({stay / total:.1%}); "
              f"all weights take {size / 1e6:.1f} MB, or {compressed / 1e6:.1f} MB with gzip compression")

    def _make_schedule(self, steps):
        settings = self._settings
        begin, end = (round(share * steps) for share in (settings.pruning_begin, settings.pruning_end))
        return sparsity.PruningSchedule(settings.keep_weights, begin, max(1, end))
