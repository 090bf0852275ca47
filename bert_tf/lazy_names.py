"""Names of a package that are imported from its modules on first access (PEP 562)."""

import importlib


def make_importer(package, modules):
    """Returns the `__getattr__` of a package: a function of a name that imports its object.

    Args:
      package: str. Name of the package.
      modules: Dict of name -> module of the package, without the package's name.
    """

    def import_name(name):
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return import_name
