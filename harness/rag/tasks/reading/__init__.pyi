from .forms import (
    bare_question as bare_question,
)
from .forms import (
    with_form as with_form,
)
from .judging import (
    JUDGES as JUDGES,
)
from .judging import (
    check as check,
)
from .judging import (
    evidence_of as evidence_of,
)
from .judging import (
    judge as judge,
)
from .judging import (
    metric_of as metric_of,
)
from .rouge import rouge as rouge
from .squad import (
    best_overlap as best_overlap,
)
from .squad import (
    exact_match as exact_match,
)
from .squad import (
    official_normal as official_normal,
)
from .squad import (
    overlap as overlap,
)
from .support import (
    cited_support as cited_support,
)
from .support import (
    joint as joint,
)
from .support import (
    split_citations as split_citations,
)
from .support import (
    support as support,
)
