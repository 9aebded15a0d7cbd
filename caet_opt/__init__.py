"""caet-opt: certified characteristic times for cost-aware pairwise pure exploration.

    1 / T* = max t   subject to   t <= f_e(w) for every needed pair e,   sum_a c_a w_a = 1,   w >= 0

Public names are those of the stub beside this file, imported on first use, so that ``import caet_opt`` stays quick.
"""

import lazy_loader

from caet_opt.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
