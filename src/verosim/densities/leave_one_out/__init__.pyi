from verosim.densities.leave_one_out.removal import Removal as Removal
from verosim.densities.leave_one_out.removal import Scorer as Scorer
from verosim.densities.leave_one_out.scorer import left_out_scorer as left_out_scorer
from verosim.densities.leave_one_out.scorer import log_density_left_out as log_density_left_out
