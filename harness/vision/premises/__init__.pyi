from .aggregate import (
    AGGREGATORS as AGGREGATORS,
)
from .aggregate import (
    Aggregator as Aggregator,
)
from .corrupting import (
    Corruption as Corruption,
)
from .corrupting import (
    corrupt as corrupt,
)
from .corrupting import (
    flipped as flipped,
)
from .gating import (
    gate as gate,
)
from .gating import (
    reliability as reliability,
)
from .reading import (
    read_audit as read_audit,
)
from .reading import (
    read_constraints as read_constraints,
)
from .reading import (
    read_judgement as read_judgement,
)
from .reading import (
    read_solution as read_solution,
)
from .rules import (
    audit_by_rules as audit_by_rules,
)
from .rules import (
    contradiction as contradiction,
)
from .types import (
    Constraints as Constraints,
)
from .types import (
    Finding as Finding,
)
from .types import (
    Severity as Severity,
)
from .types import (
    Solution as Solution,
)
from .types import (
    Step as Step,
)
from .types import (
    Verified as Verified,
)
from .verifying import (
    audit as audit,
)
from .verifying import (
    best_of as best_of,
)
from .verifying import (
    extract_constraints as extract_constraints,
)
from .verifying import (
    judge_steps as judge_steps,
)
from .verifying import (
    solution_score as solution_score,
)
from .verifying import (
    verified as verified,
)
from .verifying import (
    verify as verify,
)
