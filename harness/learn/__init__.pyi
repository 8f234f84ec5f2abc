from .finding import (
    CLIENTS as CLIENTS,
)
from .finding import (
    session_files as session_files,
)
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
from .outcomes import infer_outcome as infer_outcome
from .recipients import recipients as recipients
from .settings import (
    NAME as NAME,
)
from .settings import (
    LearnSettings as LearnSettings,
)
from .spans import Spans as Spans
from .types import (
    Claim as Claim,
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
