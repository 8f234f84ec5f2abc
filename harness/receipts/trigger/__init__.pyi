from .queries import (
    Query as Query,
)
from .queries import (
    read_queries as read_queries,
)
from .report import (
    Share as Share,
)
from .report import (
    SkillTrigger as SkillTrigger,
)
from .report import (
    TriggerReport as TriggerReport,
)
from .session import (
    TriggerSettings as TriggerSettings,
)
from .session import (
    plan_of as plan_of,
)
from .session import (
    run_trigger as run_trigger,
)
