"""The site: Sphinx, since it reads docstrings, checks every reference and searches without a server; MyST-NB, since it
executes the pages; furo, since it is readable without JavaScript, dark and light, and asks nothing of any network."""

import logging
import os
import shutil
import sys
from pathlib import Path
from tempfile import mkdtemp

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

from caet_opt.version import __version__

project = "caet-opt"
version = release = __version__
copyright = "the caet-opt authors, MIT licence"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "cells", "docstrings", "made"]
exclude_patterns = ["_build", "extensions", "static"]

# Pages are executed whenever they are read, each in a folder of its own; what fails ends the build.
os.environ["IPYTHONDIR"] = mkdtemp()
startup = Path(os.environ["IPYTHONDIR"], "profile_default", "startup")
startup.mkdir(parents=True)
shutil.copy(Path(__file__).parent / "extensions" / "kernel_startup.py", startup)
# A kernel that says at every start that it listens on this machine, and a client that says what it executes.
(startup.parent / "ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 40\n")
logging.getLogger("traitlets").setLevel(logging.WARNING)
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_output_stderr = "remove"  # the notice that something is being compiled
nb_mime_priority_overrides = [("html", "image/svg+xml", 0)]
nb_merge_streams = True

myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 3
highlight_language = "none"
smartquotes = False  # --flag stays as it is typed
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
toc_object_entries = False
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"caet-opt {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_dark_style = "github-dark"
