"""Distributes test modules to processes, so that the end of a process costs at most one test.

With --dist=loadscope, pytest-xdist 3.8.0 gives all modules of a process that ended to the others:
finished ones, too, after which these wait for ever. And it runs the test that ended the process
again and again.

Here, that test runs once more, because a process can also be killed from outside, for example for
lack of memory. The summary names it. If it ends a second process, it fails.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling


class ModuleScheduling(LoadScopeScheduling):
    """Gives the unfinished tests of a process that ended to others.

    Attributes:
      interrupted: List of str. IDs of the tests during which a process ended.
    """

    def __init__(self, config, log=None):
        super().__init__(config, log)
        self.interrupted = []

    def remove_node(self, node):
        """Removes a process.

        Args:
          node: WorkerController of a process that ended.

        Returns:
          str. ID of a test that failed, because it ended a process for the second time; else None.
        """
        failed = None
        is_first = True
        for module, tests in self.assigned_work.pop(node).items():
            left = {test: False for test, is_done in tests.items() if not is_done}
            if left and is_first:
                is_first = False
                test = next(iter(left))
                if test in self.interrupted:
                    failed = test
                    del left[test]
                self.interrupted.append(test)
            if left:
                self.workqueue[module] = left
        for other in [] if is_first else self.nodes:
            self._reschedule(other)
        return failed

    def _reschedule(self, node):
        if node in self.registered_collections:  # A new process has not collected its tests yet.
            super()._reschedule(node)


@pytest.hookimpl(optionalhook=True)  # Absent with -p no:xdist.
def pytest_xdist_make_scheduler(config, log):
    """Returns the scheduler for --dist=loadscope, and None for another --dist."""
    if config.getvalue("dist") != "loadscope":
        return None
    config.module_scheduling = ModuleScheduling(config, log)
    return config.module_scheduling


def pytest_terminal_summary(terminalreporter, config):
    """Names the tests that ran again."""
    scheduling = getattr(config, "module_scheduling", None)
    for test in scheduling.interrupted if scheduling else ():
        terminalreporter.write_line(f"note: a process ended during {test}")
