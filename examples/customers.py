"""Simulate the table of customers of the page "Five minutes".

python -m examples.customers > docs/start/customers.csv
"""

from __future__ import annotations

import numpy as np

PLANS = ["basic", "standard", "premium"]


def main() -> None:
    rng = np.random.default_rng(7)
    print("customer,age,plan,calls,minutes,fee,joined,left")
    for i in range(1000):
        left = rng.random() < 0.3
        age = round(np.clip(rng.normal(38 if left else 46, 12), 18, 90))
        plan = rng.choice(PLANS, p=[0.6, 0.3, 0.1] if left else [0.3, 0.4, 0.3])
        calls = rng.poisson(4 if left else 2)
        minutes = round(calls * 5 + rng.normal(5, 1), 1)
        fee = "" if rng.random() < 0.1 else f"{rng.normal(34 if left else 28, 8):.2f}"
        joined = np.datetime64("2021-01-01") + int(rng.integers(300 if left else 0, 1400))
        print(f"{i},{age},{plan},{calls},{minutes},{fee},{joined},{'yes' if left else 'no'}")


if __name__ == "__main__":
    main()
