"""Distributes test modules to processes, so that the end of a process fails one test.

With --dist=loadscope, pytest-xdist 3.8.0 gives all modules of a process that ended to others:
finished ones, after which the others wait for ever, and the test that ended the process, which
ends the next process, too.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling


class ModuleScheduling(LoadScopeScheduling):
    """Gives a process that ended only what it had not begun to others."""

    def remove_node(self, node):
        """Removes a process.

        Args:
          node: WorkerController of a process that ended.

        Returns:
          str. ID of the test that it was running; None if it had finished all that it was given.
        """
        crashed = None
        modules = self.assigned_work.pop(node)
        for module, tests in modules.items():
            left = {test: False for test, is_done in tests.items() if not is_done}
            if left and crashed is None:
                crashed = next(iter(left))
                del left[crashed]
            if left:
                self.workqueue[module] = left
        if crashed is not None:
            for other in self.nodes:
                self._reschedule(other)
        return crashed

    def _reschedule(self, node):
        if node in self.registered_collections:  # A new process has not collected its tests yet.
            super()._reschedule(node)


@pytest.hookimpl(optionalhook=True)  # Absent with -p no:xdist.
def pytest_xdist_make_scheduler(config, log):
    """Returns the scheduler for --dist=loadscope, and None for another --dist."""
    return ModuleScheduling(config, log) if config.getvalue("dist") == "loadscope" else None
