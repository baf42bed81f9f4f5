from verosim.insight.counterfactual import Counterfactual as Counterfactual
from verosim.insight.effect import Effect as Effect
from verosim.insight.explanation import Explanation as Explanation
from verosim.insight.importance import Importance as Importance
from verosim.insight.points import ColumnPoints as ColumnPoints
from verosim.insight.report.nomogram import Nomogram as Nomogram
from verosim.insight.scorecard import Scorecard as Scorecard
from verosim.insight.what_if import WhatIf as WhatIf
