"""The hour, the weekday and the month of moments.

Reference: Hinnant (2013), chrono-compatible low-level date algorithms (civil_from_days).
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import DAY

HOUR = DAY // 24
DAYS_OF_ERA = 146_097  # 400 years
SHIFT = 719_468  # days from 0000-03-01 to 1970-01-01


@exact
def read_clock(micros, hour, weekday, month):
    """Fill in the hour, the weekday (Monday is 0) and the month of each moment (n,).

    Moments are microseconds since 1970, also before it. Years begin in March here, so that a leap
    day is the last day of its year.
    """
    for i in range(micros.size):
        day = np.int64(micros[i]) // DAY
        hour[i] = (micros[i] - day * DAY) // HOUR
        weekday[i] = (day + 3) % 7
        era_day = (day + SHIFT) % DAYS_OF_ERA
        leaps = era_day // 1_460 - era_day // 36_524 + era_day // 146_096
        year = (era_day - leaps) // 365
        year_day = era_day - (365 * year + year // 4 - year // 100)
        from_march = (5 * year_day + 2) // 153
        month[i] = from_march + 3 if from_march < 10 else from_march - 9
