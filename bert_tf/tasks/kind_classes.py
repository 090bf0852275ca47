"""Registry of a class for each kind of task, which imports only the modules of the kinds in use."""

import collections.abc
import importlib


class KindClasses(collections.abc.Mapping):
    """Mapping of a kind to its class, in the module of a package that has the kind's name.

    Args:
      package: Name of the package.
      names: Dict of kind to the name of its class.
    """

    def __init__(self, package, names):
        self._package, self._names = package, names

    def __getitem__(self, kind):
        return getattr(importlib.import_module(f"{self._package}.{kind}"), self._names[kind])

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
