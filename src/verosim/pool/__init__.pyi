from verosim.pool.auto import Candidate as Candidate
from verosim.pool.auto import Candidates as Candidates
from verosim.pool.auto import Choice as Choice
