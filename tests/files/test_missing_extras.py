"""A module whose extra is missing names the extra; everything else works."""

import subprocess
import sys

import pytest

MODULES = [
    ("obstore", "taskloom.files.object_store", "taskloom[objects]"),
    ("splintr", "taskloom.middleware.reduction.splintr_counter", "taskloom[tokens]"),
]


@pytest.mark.parametrize(("library", "module", "wanted"), MODULES)
def test_an_import_without_its_library_names_the_extra(
    library: str, module: str, wanted: str
) -> None:
    script = f"""
import sys
sys.modules[{library!r}] = None  # Imports of it fail.
import taskloom, taskloom.files, taskloom.middleware
try:
    import {module}
except ModuleNotFoundError as error:
    print(error.name, error)
"""
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"{library} ")
    assert f"pip install '{wanted}'" in ran.stdout
