from verosim.insight.counterfactual import Counterfactual as Counterfactual
from verosim.insight.explanation import Explanation as Explanation
from verosim.insight.what_if import WhatIf as WhatIf
