"""Leave-one-out scores: each row is scored by the density estimated without this row.

    log p(x_i | c) from T − T(x_i)

There is one file per closed form.
"""

from verosim.densities.leave_one_out.removal import Removal, Scorer
from verosim.densities.leave_one_out.scorer import left_out_scorer, log_density_left_out

__all__ = ["Removal", "Scorer", "left_out_scorer", "log_density_left_out"]
