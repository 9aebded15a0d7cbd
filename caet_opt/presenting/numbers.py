"""Numbers and tables for people, by the names under which this room knows them; `caet_opt.solving` has them too."""

from caet_opt.solving.numbers import MOST_DIGITS as MOST_DIGITS
from caet_opt.solving.numbers import certified as certified
from caet_opt.solving.numbers import digits_rooted as digits_rooted
from caet_opt.solving.numbers import digits_shared as digits_shared
from caet_opt.solving.numbers import duration as duration
from caet_opt.solving.numbers import proportion as proportion
from caet_opt.solving.numbers import relative_deviation as relative_deviation
from caet_opt.solving.numbers import significant as significant
from caet_opt.solving.numbers import table as table
