"""Phrases with which a person speaks to an agent about what it should know. English is in lower case, Chinese
simplified: `triggers` makes a message so before it looks.

Every pattern stands at the beginning of a clause, but those that say otherwise, and is matched against a
clause of bounded length. What may stand before a request is matched greedily and never given back, so that it
takes no time to fail.
"""

from __future__ import annotations

_START = r"\A[\s*#>-]*"
LEAD = (
    rf"{_START}(?:请\s*)?"
    r"(?:(?:please|pls|plz|kindly|also|and|but|so|ok|okay|hey|hi|now|just|yes|yeah|well|oh|then|thanks|"
    r"great|good|again|first|finally|btw|fyi|ps|nb|important|mewcode|generally|really|let's|let us|"
    r"by the way|to be clear|in general|as a rule|in (?:the )?future|for (?:the )?future(?! (?:reference|"
    r"sessions))|for next time|one more thing|(?:in|for) (?:this|our|the) (?:repo|repository|project|"
    r"codebase)|you (?:should|must|need to|have to|can|may|ought to)|i(?: want| need| expect|'d like|"
    r" would like) you to|(?:make|be) sure (?:to|that you|you)|try to|(?:can|could|would|will) you)\s+)*+"
)
"""What may stand before a request in English."""
LEAD_ZH = (
    rf"{_START}"
    r"(?:(?:请你|请|麻烦你|麻烦|拜托|你需要|你应该|你可以|你要|你得|你也|你|您|要|也|还要|还有|并且|并|先|"
    r"就|都|帮我|帮忙|给我|替我|顺便|那么|那|好的|好|嗯|对了|对|行|另外|千万|一定|务必|必须|可以帮我|"
    r"能不能|能否|可不可以|我希望你|我要你|我想让你|希望你|最好|注意|首先|最后|重要|这一点|这件事|这个|"
    r"这点|这些|这条|这|以上|上面|刚才的|下次|okay|ok)\s*)*+"
)

_MEMORY = (
    r"(?:your (?:long[- ]term )?(?:memory|memories|notes?)|memory\.md|long[- ]term memory|the (?:memo|notes))"
)
_THIS = r"(?:this|that|it|these|those)"

# -- To keep something ------------------------------------------------------------------------------------

# Behind "always" and "never" where nobody is told to do anything: reports ("always fails", "never worked"),
# and what is no verb.
_VERB = (
    r"(?!(?:mind|say never|again|the|a|an|in|on|at|to|for|of|with|as|been|seen|had|has|was|were|is|are|am|"
    r"did|does|came|went|knew|thought|found|done|got|gotten|heard|true|false|null|none|nan|empty|zero|same|"
    r"some|there|here|wrong|broken|slow|fast|flaky|red|green|happy|sure|easy|hard|good|bad|nice|fun|so|too|"
    r"more|less|not|out|off|one|two|i|we|you|they|he|she|from|because|since|my|our|your|no|nothing|"
    r"something|able|ready|available|possible|necessary|enough|late|told|made|said|ran|took|gave|saw|felt|"
    r"left|kept|_)\b|this\b|that\b|"
    r"it\b)(?!\w*[^s\W]s\b(?<!focus)(?<!alias))(?!\w+(?<!ne)(?<!fe)(?<!emb)(?<!se)(?<!spe)(?<!ce)ed\b)"
    r"(?!\w+(?<!br)(?<!\bp)ing\b)[a-z]"
)
_ALWAYS = rf"(?:always|never(?: ever)?)\s+{_VERB}"
_IMPERATIVE = (
    r"(?:use|write|run|keep|put|add|make|prefer|do|don't|call|name|commit|push|ask|check|test|format|avoid|"
    r"answer|reply|work)\b"
)
NOTE = (
    # Not "remember me", which is a box to tick, nor "remember when we ...".
    rf"{LEAD}(?:do )?remember\b(?![- ]me\b(?! (?:as|by)\b))(?! (?:when|who)\b)",
    rf"{LEAD}(?:don'?t|do not|never|not) (?:ever )?forget\b",
    rf"{LEAD}(?:one thing to )?(?:keep|bear) (?:in mind|{_THIS} in mind)\b",
    rf"{LEAD}(?:take )?note (?:that|{_THIS} down|down that)\b",
    rf"{LEAD}(?:make|take|keep|save) (?:yourself )?an? (?:mental )?(?:note|memo)\b",
    rf"{LEAD}(?:write|jot) (?:{_THIS} down|down that)\b",
    rf"{LEAD}(?:memori[sz]e|memo)(?: (?:{_THIS}|the|my|our)\b|\s*\Z)",
    rf"{LEAD}(?:commit|add|save) {_THIS} to memory\b",
    rf"{LEAD}(?:add|save|put|store|write|keep|record) .{{1,60}}? (?:to|in|into) {_MEMORY}",
    rf"{LEAD}update {_MEMORY}",
    rf"{LEAD}for future (?:reference|sessions)\b",
    rf"{LEAD}(?:do )?{_ALWAYS}",
    rf"{LEAD}{_IMPERATIVE}.{{1,80}}? (?:and|but) {_ALWAYS}",
    r"\bi (?:always|never) want\b",
    r"\b(?:from now on|from here on|going forward|henceforth)\b",  # anywhere
    rf"{LEAD_ZH}(?:(?:把|将).{{1,40}}?(?:给我|都|也)?)?"
    r"(?:记住(?!了?[吗没])(?!(?:密码|登录|登入|登陆|账号|用户名|我的登录))|记一下(?!日志|log)|记下来?|记着|"
    r"记好|记牢|(?:记|加|存|写|放|保存|添加|收)(?:到|进|入|在)(?:你的|长期)?(?:记忆|笔记|备忘)|加入(?:你的|"
    r"长期)?记忆|(?:存|写|加|建|新建|添加|保存|做)一?[条个](?:记忆|笔记|备忘))",
    rf"{LEAD_ZH}(?:可?别|不要|勿|莫|可?不能)(?:再)?忘",
    rf"{LEAD_ZH}更新(?:一下)?(?:你的)?(?:长期)?(?:记忆|笔记)\s*\Z",
    rf"{LEAD_ZH}(?:记忆|备忘|memo)(?:\s?一下|\s*\Z)",
    rf"{LEAD_ZH}(?<=[请我])记忆(?=[这那]|以下|下面|上述)",  # who is asked to: the lead ends in 请 or 帮我
    rf"{LEAD_ZH}(?:以后)?记得(?!\s*(?:\Z|[吗么]|上次|之前|以前|当时|昨天|好像|不|没|是|有))",
    rf"{LEAD_ZH}(?:永远|绝对|一律|总是|始终)(?:不要|别|不准|不许|不能|用(?!不)|使用|先|保持|要)",
    rf"{LEAD_ZH}(?:我们|我)?(?:从今以后|从今往后|以后|今后|往后)\s*(?:请你|请|你|我们|我|就|每次|所有|"
    rf"凡是){{0,3}}\s*"
    r"(?:都|一律|统一|全部|全都|只|总是|不要|别|不许|不准|必须|尽量|默认|用(?![到得户不]))",
    rf"{LEAD_ZH}(?:从今)?(?:以后|今后|往后)(?:每次|每当|所有|凡是|只要|遇到|提交|发布|写|回答|回复|说)"
    r".{0,20}?(?:都|先|一律)",
    rf"{LEAD_ZH}从(?:现在|今天)(?:起|开始)",
)
REPORT = (
    r"\b(?:(?<!i )(?:says?|said)|prints?|printed|reads?|output|outputs|error|message|docs?|log|readme|"
    r"comment|title)\s*:|(?:写着|显示|提示|输出|报错|(?<!我)说|日志|文档|注释)\s*[:：]"
)
"""Before what somebody else says."""
RECALL = r"\bremember (?:what|how|when|where|who|which|why|if|whether|anything|our last|the last|my last)\b"
"""Within a question: nothing is to be kept, something is to be told."""
NO_NOTE = (
    rf"{LEAD}(?:you )?(?:don'?t|do not|never|(?:there's |there is )?no (?:need|reason) to|not necessary to|"
    rf"needn't|"
    r"(?:don'?t|do not) (?:need|have) to)\s+(?:remember|memori[sz]e|(?:make|take|keep) (?:an? |any )?notes?|"
    rf"note (?:{_THIS}|any)\b|write {_THIS} down|keep (?:any of )?{_THIS} in mind|(?:save|store|keep|put|"
    rf"add) (?:any of )?(?:{_THIS}|anything) (?:to|in|into) (?:memory|{_MEMORY}))",
    r"(?<![特分区个级类性要])(?:不要|不用|不必|无需|别|不需要|没必要|没有必要|用不着|不准|不许|请勿|"
    r"勿)\s*(?:再|帮我|给我|你)?(?:把.{1,20}?)?(?:记住|记下|记一下|记到|记进|记忆|记(?=[了啊它这那在]|\W|"
    r"\Z)|(?:存|写|加|放)(?:到|进|入)(?:你的)?(?:记忆|笔记))",
)
"""Not to keep something."""

# -- To forget something ----------------------------------------------------------------------------------

FORGET = (
    rf"{LEAD}forget (?:all )?(?:about )?(?:{_THIS}|what i|i said|everything|anything|my|about|_|"
    r"the (?:\w+ )?(?:note|fact|rule|thing|preference|last|previous|part|memory|bit))(?!\w)",
    rf"{LEAD}(?:delete|remove|erase|drop|clear|wipe) .{{0,60}}?(?:from|in) {_MEMORY}",
    rf"{LEAD}(?:delete|remove|erase|drop|scrap) (?:that|this|your|the|my)(?: last| previous|"
    rf" latest)? (?:note|memory|memo)\b"
    r"(?! (?:leak|limit|usage))",
    rf"{LEAD}(?:stop remembering|unlearn)\b",
    rf"{LEAD_ZH}(?:把|将).{{1,40}}?忘(?:掉|记|了)?(?!不)",
    rf"{LEAD_ZH}(?:刚才|刚刚|之前|上面)?(?:我?说的)?(?:都|就)?(?<!你)忘掉",
    rf"{LEAD_ZH}(?:上?一?[条个])?(?:记忆|笔记|备忘)(?:给我)?(?:删|清)",
    rf"{LEAD_ZH}(?:把|将)(?:你的|长期)?(?:记忆|笔记|备忘)(?:里|中).{{1,30}}(?:删|去|清)(?:掉|了|除)?",
    rf"{LEAD_ZH}(?<!你)忘(?:了|记)(?:这|那|刚才|刚刚|它|我(?:说|刚|之前|上)|之前|上面|前面|上一|所有)",
    rf"{LEAD_ZH}(?:(?:把|将).{{1,30}}?)?(?:从)?(?:删掉|删除|删了|去掉|清除|清空).{{0,20}}(?:记忆|笔记|"
    rf"备忘)(?!化|功能)",
    rf"{LEAD_ZH}(?:把|将).{{1,30}}?从(?:你的|长期)?(?:记忆|笔记|备忘)(?:里|中)?(?:面)?(?:删|去|移|清)",
)

# -- To correct, or to confirm ----------------------------------------------------------------------------

_SO = r"(?:completely |totally |just |still |all |really |simply )?"
CORRECTION = (
    rf"{LEAD}(?:that's|that is|that was|this is|you're|you are|you got {_THIS}|you did {_THIS}) {_SO}"
    r"(?:wrong|incorrect|mistaken|backwards)\b",
    rf"{LEAD}(?:that's|that is|this is|that was) {_SO}not (?:it|how|what|right|correct|true|where|"
    r"the (?:right|way|one|file))\b",
    rf"{LEAD}(?:that|this) (?:isn't|wasn't) (?:it|how|what i|right|correct|true)\b",
    rf"{LEAD}(?:that|this|it) was supposed to\b|{LEAD}i(?:'d| would) rather you\b",
    rf"{LEAD}it's not (?:what|how) i\b|{LEAD}instead use\b",
    rf"{_START}no (?:that's|that is|this is|not|i (?:said|want|wanted|meant)|it's|it should|don't|"
    rf"the other|you)\b",
    rf"{LEAD}not (?:like (?:that|this)|what i|(?:this|that) (?:way|one))\b",
    rf"{LEAD}wrong(?:\s*[!.]*\Z| (?:file|branch|folder|directory|approach|way|one|function|place|project|"
    rf"language)\b)",
    rf"{LEAD}you (?:misunderstood|misread|forgot|missed|broke|ignored|didn't (?:listen|read|follow|do what)|"
    r"keep (?:on )?\w+ing|(?:were|weren't) supposed|shouldn't|should not|should(?:'ve| have| use|"
    r" be using))\b",
    # The lead takes "you should".
    rf"{LEAD}(?<=you should )(?:not\b|have\b|use\b|be using\b)",
    rf"{LEAD}(?:stop|quit) \w+ing\b",
    rf"{LEAD}use\b.{{1,80}}\binstead\b",
    rf"{LEAD}(?:don'?t|do not|never) (?:.{{1,60}} (?:again|anymore|any more|ever)\b|(?:ever )?do (?:that|"
    rf"this)\b)",
    rf"{LEAD}(?:don'?t|do not) (?:add|write|use|put|create|make) \w+(?: \w+)?\s*[.!]*\Z",
    rf"{LEAD}next time\b(?! (?:it|i|the|this|we run)\b)",
    r"(?<!what )(?<!as )(?<!did )(?<!forget )\bi (?:already |just |clearly )?(?:said\b(?! (?:hello|hi|to|"
    r"that to)\b)|told you|asked you|asked for|meant(?! to\b))\b",
    r"\bas i (?:already )?said\b",
    r"\bi (?:(?:didn'?t|did not) (?:ask|say|want|mean|tell)|never (?:asked|said|wanted|told))\b",
    r"\bi (?:don'?t|do not) want (?:you|any|to see|this|that)\b",
    rf"{_START}(?:这|那|你|还|都|完全|这样|那样|这里|这个|那个|这么做|做|说|理解|得|的|是|"
    rf"也){{0,4}}(?:不对)?不对(?:\Z|[的啊呀吧哦了\s!])",
    r"我(?:说|指|要|想要|想|需要)的(?:是|不是)|我的?意思是|我是(?:说|让你|要你|想让你)",
    r"我(?:已经|刚才|之前|早就|都)?(?:说过|讲过|告诉过你|跟你说过|叫你|让你)|我没有?(?:让|叫|要)你|(?:不是|"
    r"谁)让你",
    r"(?:\A\s*|[你搞弄写解做改用想猜算])错了(?!么)",
    r"(?<![特分区个级类性告识辨差])别(?:再|老是|总是|随便|擅自|乱)|(?<!要)(?:不要|不准|不许)(?:再|总是|"
    r"随便|擅自|乱)",
    r"[搞弄写做]反了|(?<!是)不是(?:这样|这个意思|那个意思)|都说了",
    rf"{LEAD_ZH}(?:别|不要)(?:用|加|写)",
    r"(?<!不是)应该用(?!.{0,20}(?:什么|哪|怎么|何|吗))",
    rf"{LEAD_ZH}(?<=你)(?:不该|不应该|怎么又|又(?!一)|老是|总是|忘了|漏了|理解错|搞错)",
    r"\A\s*你应该(?!.{0,20}(?:知道|记得))",
    rf"{_START}下次(?:请|不要|别|先|要|用|直接|你)",
)
"""In a clause."""
CORRECTION_WITHIN = (
    # "no, ...": with something behind it, and not "no, thanks".
    r"(?:\A|[\n.!?。！？])\s*(?:no|nope|nah)\s*(?:[,!—–]+|[.-]+(?=\s))\s*(?!of\b|i haven't|thank|problem|"
    r"worries|need|rush|idea|hurry|it's (?:fine|ok)|that's (?:fine|ok|all)|i don't (?:know|think)|\d)\w",
    r"(?:\A|[\n.!?。！？])\s*不(?:是的?|对|行)?\s*[，,。！!]\s*\w",
    r"(?:\A|\b(?:use|want|meant?|is|be|was|should|'s|[,;:])\s|"
    r"[,;:]\s?)\s*not [^.!?,;\n]{1,60}?,? but (?:rather |instead )?(?!it|i\b|we|you|they|the[rsny]|this|"
    r"that|when|if|still|only|also|not|does|did|can|could|will|would|has|have|is|are|was|no|nothing|what|"
    r"why|how|at least|fine|ok|okay|good|close|almost)\w",
    r"\b(?:use|do|run|write|put|call|name|want|meant?|said|prefer|be|it's)\b[^.!?,;\n]{1,80}, not (?!only|"
    r"just|sure|yet)\w",
    r"(?:\A|[,.;:!?\n])\s*(?:(?:no|oh|hmm|wait|well|but|and),? )?actually,? (?:please |just )?(?:use|make|"
    r"put|do (?:it|that|this|not)|don't|call|name|keep|leave|go with|switch|change|never|always|let's|"
    r"i(?: prefer| meant| want| said|'d)|(?:it|you|we) should|we (?:use|don't|never|always|want|prefer))\b",
    r"\b(?:don'?t|do not) (?:use|add|put|call|write|do)\b[^.!?\n]{1,60}?[,;] (?:but )?(?:use|add|put|call|"
    r"write|do|just)\b",
    r"(?:不要|别)用[^。！？\n]{1,30}[，,]\s*(?:请|要|改)?用",
    r"(?<![是还])不是[^。！？\n]{1,60}?(?:而是|[，,]\s*(?:是|要|用|应该))",
)
"""Anywhere in a message."""
CONFIRMATION = (
    rf"{LEAD}(?:that's |that is |this is |it's )?(?:exactly|precisely|just) (?:like (?:that|this)\s*\Z|"
    rf"right\b|"
    r"what i (?:wanted|meant|asked|need)|how i (?:like|want))",
    rf"{LEAD}exactly\s*[!.]*\Z",
    rf"{LEAD}keep (?:doing (?:{_THIS}|so)|{_THIS} (?:up|that way|this way|like (?:that|this))|"
    rf"up the (?:good|great))\b",
    rf"{LEAD}(?:that's|that is|this is|that was) {_SO}(?:the right (?:call|choice|decision|approach|way)|"
    r"how i (?:like|want)|what i (?:wanted|meant|asked)|perfect|spot on|much better)\b",
    rf"{LEAD}i (?:really )?(?:like|love) (?:how|the way|that you|this (?:style|approach|way|format)|"
    rf"it (?:like|this|that way|when you))\b",
    rf"{LEAD}(?:good|great|nice|excellent) (?:call|choice|decision|job|work)\b",
    # The lead takes "good" and "great".
    rf"{LEAD}(?:(?<=good )|(?<=great ))(?:call|choice|decision|job|work)\s*[!.]*\Z",
    rf"{LEAD}(?:spot on|you nailed it|nailed it|(?<=well )done\s*[!.]*\Z)",
    rf"{LEAD}do (?:it|that|this) (?:like (?:that|this)|this way|that way) (?:every|always|again|from|in|"
    rf"next)",
    rf"{_START}(?:对|好的?|嗯|行|没错|是的|很好|以后|可以|都|也){{0,3}}\s*就(?:是|要|该|按|照)?这样"
    r"(?:\Z|[做写来吧就\s!]|保持|最好|很好|没错)",
    rf"{LEAD_ZH}(?:继续|保持|一直)(?:就)?(?:这样|这种|这么)",
    rf"{_START}这样(?:就)?(?:对了|很好|最好|不错|正好)",
    r"\A\s*完全正确|就按(?:这个|这样)来|正是(?:这样|我)|我(?:很|就|更)?喜欢(?:这样|这种|你)|(?:做|干|"
    r"写)得(?:很好|真好|非常好|不错|好|漂亮)\s*[!]*\Z",
)
"""In a clause."""
CONFIRMATION_WITHIN = (r"(?:很好|完美|太好了|不错|非常好|棒极?了?)[，,。！!\s]*(?:以后|今后|继续|保持|就这)",)

# -- Questions --------------------------------------------------------------------------------------------

QUESTION = (
    r"[?？]\s*\Z|[吗么]\s*\Z|\A\s*(?:(?:and|but|so|hey|ok|okay)[, ]+)?(?:(?:do|have|had) (?:i|we|you|they)|"
    r"(?:did|does|don't|didn't|is|are|was|were|should|would|has) (?:i|we|you|it|this|that|there|the|he|she|"
    r"they)|(?:can|could|will) (?:i|we|it|this|that|there|the|he|she|they)|(?:what|why|how|when|where|who|"
    r"which)(?:'s| is| are| do| does| did| can| should| would| to))\b"
)
NO_QUESTION = (
    r",?\s*(?:ok|okay|alright|right|please|thanks|yes|好吗|好么|可以吗|行吗|知道吗|明白吗)\s*[?？]*\s*\Z"
)
"""What makes a request of a question at its end."""
POLITE = r"\b(?:can|could|would|will) you\b|帮我|请|麻烦|能不能|可不可以|能否"
"""A question that asks for something to be done."""
TRADITIONAL = (
    "記憶別後這個點請煩幫給對錯應該說講讓們從現開還沒"
    "嗎麼麽剛筆備遠絕總統準許無將會過樣刪條務須歡繼續寫當來進錄裡為時認變聽覺"
)
SIMPLIFIED = (
    "记忆别后这个点请烦帮给对错应该说讲让们从现开还没"
    "吗么么刚笔备远绝总统准许无将会过样删条务须欢继续写当来进录里为时认变听觉"
)
"""The characters of the phrases above, one for one."""
