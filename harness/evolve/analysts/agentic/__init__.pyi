from .analyst import analyse_failure as analyse_failure
from .proof import (
    prove as prove,
)
from .proof import (
    trials as trials,
)
from .trial import Trial as Trial
