"""An agent without a model for docs/jobs/two-rewards.md: it doubles a number, or guesses."""

import random
import sys

right = 2 * int(sys.argv[1].split()[-2])
print(random.choice([right, f"Two times the number makes {right}", 5, "I would say 5, or so"]))
