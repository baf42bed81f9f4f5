from verosim.twins.comparison.crossing import Crossing as Crossing
from verosim.twins.comparison.curves import Comparison as Comparison
from verosim.twins.comparison.curves import Difference as Difference
from verosim.twins.comparison.curves import Failure as Failure
from verosim.twins.gap import Gap as Gap
