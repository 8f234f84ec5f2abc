from .gathering import Gathered as Gathered
from .learning import (
    LearnResult as LearnResult,
)
from .learning import (
    gather as gather,
)
from .learning import (
    learn as learn,
)
from .learning import recipients as recipients
from .outcomes import infer_outcome as infer_outcome
from .review import REVIEW as REVIEW
from .session_logs import Spans as Spans
from .session_logs import (
    session_files as session_files,
)
from .types import (
    NAME as NAME,
)
from .types import (
    Claim as Claim,
)
from .types import (
    LearnSettings as LearnSettings,
)
from .types import (
    Outcome as Outcome,
)
from .types import (
    Rebuilt as Rebuilt,
)
from .types import (
    Session as Session,
)
from .types import (
    Skipped as Skipped,
)
