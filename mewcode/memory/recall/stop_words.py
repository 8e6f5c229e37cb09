"""Words that say nothing of what a question is about. They are left out of questions alone: a text may be
named by them."""

from __future__ import annotations

_STOP_STEMS = """
    a about after again all also an and ani anybodi anyon anyth arent as ask at be becaus befor both but
    by can cannot cant could couldnt didnt do doesnt dont dure each either els ever everi few for from
    further get give go hasnt have havent he hello help her here herself hey hi him himself his how howev
    howto i id if ill im in into isnt it itself ive just kind know let like may me might mine more most
    much must my myself need no nor not now of off ok okay on onc one onli onto or other our ourselv out
    over own per pleas rememb remind same shall she should shouldnt so some somebodi someon someth such
    tell than thank that the their them themselv then there these they thing this those though through to
    too under until up upon us use veri via want wasnt we werent what when where whether whi which while
    who whom whose will with within without wont would wouldnt yes yet you your yourself
    """
STOP_STEMS = frozenset(_STOP_STEMS.split())
"""English, as their stems, without apostrophes."""
_WEAK_STEMS = """
    abl abov across actual add allow almost along alreadi although alway amount anoth anyway apart appear
    around away back bad becom begin behind below best better big bring care certain chang come common
    complet continu correct coupl current decid differ difficult easi enough entir especi even except
    expect explain fact fair far feel final find fine first forget form full general good great happen
    hard idea imagin includ insid instead interest involv keep last late later least leav less life littl
    live look lose lot make mani matter mayb mean meet middl miss near never new next nice noth often old
    ordinari particular past perhap possibl prefer present pretti probabl problem proper quick quit rather
    readi real realli reason right round say see seem sens serious sever show side similar simpl sinc
    situat small sound stay still strong stuff sudden suppos sure take talk think time togeth toward tri
    turn understand usual various wait way well whatev whenev wherev whoever whole worri wors worst wrong
    """
WEAK_STEMS = frozenset(_WEAK_STEMS.split())
"""Of English words that are common whatever is spoken of, and no terms of software or of times."""
EMPTY_CHARACTERS = frozenset("的吗呢吧啊呀嘛么你我他她它这那哪谁请怎")
"""A pair with one of them says nothing."""
WEAK_CHARACTERS = EMPTY_CHARACTERS | frozenset(
    "了是在有要不都就也很和与或及到从把被对为以于而但一个上下里中时会能可没多少大小想做去来还给让何什最该后前"
)
"""A character by itself that says nothing."""
_FULL_PAIRS = "目的 的确 标的 请求 申请 邀请 我司 其他 他人"
FULL_PAIRS = frozenset(_FULL_PAIRS.split())
"""The pairs with one of them that do say something."""
_EMPTY_PAIRS = """
    一下 一个 一些 一样 不是 不要 之前 之后 也是 了一 了解 什么 以及 以后 以前 但是 何时 使用 做了 关于 再次
    几个 出来 告诉 哪个 哪些 哪里 哪儿 因为 因此 在哪 多少 如何 如果 对于 就是 已经 帮忙 帮助 应该 应当 开始
    怎么 怎样 所以 所有 才能 时候 是不 是否 是在 是怎 是如 有关 有哪 有什 有没 有人 有些 来说 正在 没有 然后
    现在 用什 用哪 的话 知道 究竟 是什 到底 希望 想要 或者 而且 能不 能否 自己 虽然 让我 记得 该怎 该如 该用
    需要 还是 还有 进行 通过 那么 都是 首先 可以 不能 不会 用的 个什
    """
EMPTY_PAIRS = frozenset(_EMPTY_PAIRS.split())
