from verosim.insight.explanation import Explanation as Explanation
