"""The registries of kinds of tasks, which import only the modules of the kinds in use."""

import collections.abc
import importlib


class Registry(collections.abc.Mapping):
    """Mapping of a kind to its class or function, whose module is imported on use.

    Args:
      package: Name of the package whose modules, or packages, have the names of the kinds.
      names: Dict of kind to the name of its class or function.
      module: Name of the module in the package of each kind; None if a kind is a module.
    """

    def __init__(self, package, names, module=None):
        self._package = package
        self._names = names
        self._suffix = f".{module}" if module else ""

    def __getitem__(self, kind):
        name = self._names[kind]
        return getattr(importlib.import_module(f"{self._package}.{kind}{self._suffix}"), name)

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __contains__(self, kind):
        return kind in self._names  # The base class would import the module.

    def find(self, name):
        """Returns the class with a name, for `__getattr__` of the package (PEP 562)."""
        kind = next((kind for kind, other in self._names.items() if other == name), None)
        if kind is None:
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}")
        return self[kind]
