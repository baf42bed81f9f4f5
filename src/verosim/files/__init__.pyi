from verosim.files.held_out_scores import HeldOutScores as HeldOutScores
from verosim.files.model_info import ModelInfo as ModelInfo
