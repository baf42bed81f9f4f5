from verosim.validate.cross_validation import CrossValidation as CrossValidation
from verosim.validate.diagnosis.findings import Diagnosis as Diagnosis
from verosim.validate.diagnosis.findings import Finding as Finding
from verosim.validate.group_scores import GroupScores as GroupScores
from verosim.validate.reliability import Reliability as Reliability
from verosim.validate.search import Search as Search
from verosim.validate.select import Selection as Selection
from verosim.validate.select import Step as Step
