from verosim.pool.result import Candidate as Candidate
from verosim.pool.result import Candidates as Candidates
from verosim.pool.result import Choice as Choice
from verosim.pool.result import ExpertScores as ExpertScores
