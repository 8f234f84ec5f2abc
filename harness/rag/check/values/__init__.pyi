from .roles import parts as parts
from .roles import share_of as share_of
from .verdicts import alike as alike
from .verdicts import judge as judge
from .verdicts import judge_value as judge_value
