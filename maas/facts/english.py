"""Patterns of facts in English."""

from __future__ import annotations

import re

from maas.facts.patterns import DEPARTMENTS, TOOLS, pattern

_UNSURE = r"""
if|unless|would|could|might|maybe|perhaps|probably|possibly|wish|hope|hoping|want|wanted|pretend|imagine|suppose|
supposedly|almost|nearly|dream\w*|jok(?:e|ing)|kidding|whether|used\sto|said|says|saying|tells|told|asked|asks|wrote|
writes|think|thinks|guess|heard|read|as\sif|i'd|character|novel|story|movie|film|game|song|planning|considering|
thinking|going\sto|will|let's
"""
UNSURE = re.compile(rf"[\"“”:()]|\b(?:{''.join(_UNSURE.split())})\b", re.IGNORECASE)
JOINTS = re.compile(r"[,;]\s(?!(?:when|while|unless|except)\b)|\s(?:and|but|so|because)\s", re.IGNORECASE)
FILLERS = re.compile(
    r"(?:(?:oh|well|hey|hi|hello|yes|yeah|no|so|and|but|by the way|btw|fyi|actually|just so you know|in fact|"
    r"note that|remember that|remember|also|for the record|these days|nowadays|now|currently)\s+)+",
    re.IGNORECASE,
)
DEPENDENT = (
    (re.compile(r"(?i)\b(?:neighbou?r|landlord|landlady|flatmate|roommate|commute)\b"), "residence"),
    (re.compile(r"(?i)\bmy (?:boss|manager|colleague|coworker|co-worker|team lead|office|salary)\b"), "work"),
)

_SINGLE_KIN = (
    "wife|husband|boss|manager|girlfriend|boyfriend|fiancée?|landlord|landlady|doctor|dentist|therapist|"
    "mother|father|mom|mum|dad|partner"
)
_KIN = (
    "sister|brother|son|daughter|aunt|uncle|cousin|nephew|niece|grandmother|grandfather|grandma|grandpa|"
    "friend|best friend|colleague|coworker|co-worker|neighbou?r|flatmate|roommate|teacher|trainer|coach"
)
_PET = "dog|cat|puppy|kitten|rabbit|parrot|hamster|horse|turtle|guinea pig"
_NAME = r"(?P<name>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?)"
_NOBODY = (
    "He|She|It|They|We|You|Who|Nobody|Everybody|Everyone|Someone|Somebody|That|This|There|Which|One|Then|Now|God|What"
)
_PERSON = rf"(?P<who>(?!(?:{_NOBODY}|{TOOLS})\b)[A-Z][a-z'’-]+(?: [A-Z][a-z'’-]+)?)"
_WHO = rf"(?:(?:(?i:my) (?:{_SINGLE_KIN}|{_KIN}) )?{_PERSON}|(?i:my) (?P<kin>{_SINGLE_KIN}|{_KIN}))"
_PLACE = r"(?:the )?(?P<value>[A-Z][\w'’.-]*(?: (?:of |on |upon |de |la |and )?[A-Z][\w'’.-]*){0,3})"
_TOWN = rf"(?!(?:the )?(?:{TOOLS}|{DEPARTMENTS})\b){_PLACE}"
_TAIL = r"(?: .{1,60})?"
_SINCE = r"(?: (?:now|again|at the moment|these days|as of .{1,20}|since .{1,30}|for .{1,30}|nowadays))?"
_NO_THING = (
    "it|its|it's|this|that|those|these|them|they|him|her|hers|his|their|theirs|you|your|yours|how|when|what|where|why|the|"
    "option|version|variant|number|not|"
    r"all the|every\w+|any\w+|some\w+|to|myself|having|being|making|doing|getting|using|another|one|both"
)
_LATE_WORDS = "it|this|that|them|their|his|her|you|your|there|here"
_THING = (
    rf"(?!(?:{_NO_THING})\b)(?!.*\b(?:{_LATE_WORDS})\b)"
    r"(?P<value>[\w'’-]+(?: [\w'’-]+){0,4}?)(?: (?:too|though|the most|a lot|so much|very much|lol))?"
)
_FOOD = (
    r"(?!(?:much|enough|more|a lot|well|properly|tonight|today|now|yet|alone|together|out|in|late|early|here|there|at|"
    rf"after|before|from|with|like|as|when|while|on|for)\b){_THING}"
)
_OBJECT = r"(?! (?:up|still|straight|for|on|in|here|there|by)\b)"
_WHEN = r"(?: (?:(?:last|this) \w+|in \w+|today|yesterday|(?:\w+ ){1,3}ago))?"
_NO_NAME = (
    "[A-Z]{2,}|German|French|Dutch|Greek|Swiss|Thai|Czech|Polish|Irish|English|Scottish|Welsh|British|Spanish|Danish|"
    "Swedish|Finnish|Turkish|Jewish|Italian|Russian|Ukrainian|Norwegian|Hungarian|Romanian|Bulgarian|Belgian|Austrian|"
    "Indian|Canadian|Australian|American|Mexican|Brazilian|African|Asian|European|Persian|Iranian|Korean|Chinese|"
    "Japanese|Portuguese|Vietnamese|Catholic|Muslim|Buddhist|Hindu|Protestant|Orthodox|Aries|Taurus|Gemini|Virgo|"
    "Libra|Scorpio|Sagittarius|Capricorn|Aquarius|Pisces"
)
_NAMED = rf"(?!(?:{_NO_NAME})\b)"
_DAY = (
    r"(?P<value>(?:on |in )?(?:the )?(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]+|"
    r"[A-Z][a-z]+ \d{1,2}(?:st|nd|rd|th)?|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2})(?:,? \d{4})?)"
)
_I = r"(?i:I)"
_MOVED = "(?:moved (?:back |over )?to|relocated to|settled in|settled down in)"
_RECENTLY = r"(?: (?:just|recently|finally|now))?"
_HOME_IN = rf"(?:place|flat|apartment|house|home|studio|room) in {_TOWN}{_TAIL}"
_FOR_A_WHILE = r"(?!.*\b(?:every|each|next|weekends?|holidays?|nights?|vacation)\b)"
_DWELLING = rf"an? (?:\w+ )?{_HOME_IN}"
_KEYS = r"(?i:got|picked up|collected|received) the keys (?:to|of|for) (?:my|our|the)"
_CONTRACT = r"(?:(?i:I)(?:['’]ve| have)?(?: just| finally)? )?(?i:signed) (?:the|my|an?)"

SENTENCES = (  # whole, because their second half says what the first one means
    pattern(
        "state",
        "work",
        rf"{_CONTRACT} (?:\w+ )?contract with {_PLACE}(?:,| and| -)(?: and| so)? "
        r"(?:I (?:begin|start)|starting) .{1,40}",
        "begins",
    ),
    pattern("state", "work", rf"{_CONTRACT} (?:employment|job|work) contract with {_PLACE}{_TAIL}", "begins"),
)
PATTERNS = (
    pattern("identity", "name", rf"(?i:my (?:full )?name is|my name's) {_NAME}"),
    pattern(
        "identity",
        "name",
        rf"(?i:call me) (?!(?:ASAP|Tomorrow|Today|Tonight|Later|Back|When|If|Now|Crazy|Old)\b){_NAME}",
    ),
    pattern("identity", "birthday", rf"(?i:my birthday(?: is|'s)) {_DAY}"),
    pattern("identity", "birthday", rf"{_I} was born {_DAY}"),
    pattern("identity", "origin", rf"{_I}(?:'m| am|’m) (?:originally )?from {_TOWN}"),
    pattern("identity", "age", rf"{_I}(?:'m| am|’m) (?P<value>\d{{1,3}})(?: years old)?"),
    pattern("identity", "email", r"(?i:my email(?: address)?(?: is|'s)) (?P<value>[^\s@]+@[^\s@]+)"),
    pattern("identity", "phone", r"(?i:my (?:phone|mobile)(?: number)?(?: is|'s)) (?P<value>[+\d][\d ()-]{5,20})"),
    pattern("state", "residence", rf"(?i:I|we)(?: (?:now|currently|still|both))? live (?:in|near) {_TOWN}{_TAIL}"),
    pattern("state", "residence", rf"(?i:I'm|I am|I’m|we're|we are) (?:now )?living in {_TOWN}{_TAIL}"),
    pattern("state", "residence", rf"(?i:(?:I['’]m|I am|we['’]re|we are)) (?:now |currently )?based in {_TOWN}{_TAIL}"),
    pattern("state", "residence", rf"(?i:my home|our home|home) is (?:now )?(?:in )?{_TOWN}{_TAIL}"),
    pattern("state", "residence", rf"(?i:I|we)(?:['’]ve| have)?{_RECENTLY} {_MOVED} {_TOWN}{_TAIL}", "begins"),
    pattern(
        "state", "residence", rf"(?i:I|we)(?:['’]ve| have) (?:been living|lived) in {_TOWN} (?:for|since) .{{1,40}}"
    ),
    pattern(
        "state",
        "residence",
        rf"{_FOR_A_WHILE}(?i:I rent|I['’]m renting|I am renting|we rent|we['’]re renting) {_DWELLING}",
    ),
    pattern(
        "state",
        "residence",
        rf"(?i:(?:I|we)(?:['’]ve| have)?{_RECENTLY} )?{_KEYS} (?:new |own |first )*{_HOME_IN}",
        "begins",
    ),
    pattern("state", "residence", rf"(?i:I) (?:no longer live|don['’]t live) in {_TOWN}{_TAIL}", "ends"),
    pattern("state", "residence", rf"{_WHO} (?:now |currently )?lives in {_TOWN}{_TAIL}"),
    pattern("state", "residence", rf"{_WHO}(?: has)?{_RECENTLY} {_MOVED} {_TOWN}{_TAIL}", "begins"),
    pattern("state", "residence", rf"{_WHO} (?:no longer lives|doesn['’]t live) in {_TOWN}{_TAIL}", "ends"),
    pattern("state", "work", rf"{_I}(?: (?:now|currently))? work (?:at|for) {_PLACE}{_TAIL}"),
    pattern("state", "work", rf"{_I}(?:'m| am|’m) (?:now )?working (?:at|for) {_PLACE}{_TAIL}"),
    pattern(
        "state",
        "work",
        rf"{_I}(?:['’]ve| have)?{_RECENTLY} (?:started at|"
        rf"(?:started working|(?:started|got) a (?:new )?job) (?:at|for|with)) {_PLACE}{_TAIL}",
        "begins",
    ),
    pattern(
        "state",
        "work",
        rf"{_I}(?:['’]ve| have)?{_RECENTLY} joined (?!(?:{TOOLS})\b){_PLACE}(?:{_WHEN}| as .{{1,50}})",
        "begins",
    ),
    pattern("state", "work", rf"(?i:my (?:new )?job is (?:at|with)) {_PLACE}{_TAIL}"),
    pattern(
        "state", "work", rf"(?i:(?:today|yesterday|this) (?:is|was) my first (?:day|week) at) {_PLACE}{_TAIL}", "begins"
    ),
    pattern(
        "state", "work", rf"(?i:I was hired by|I['’]ve been hired by|I got hired (?:at|by)) {_PLACE}{_TAIL}", "begins"
    ),
    pattern("state", "work", rf"{_I} (?:no longer work|don['’]t work) (?:at|for) {_PLACE}{_TAIL}", "ends"),
    pattern(
        "state",
        "work",
        rf"{_I}(?:'ve|’ve| have)?(?: just)? (?:quit|left|lost) my job(?:{_WHEN}| (?:at|with|because|after) .{{1,50}})",
        "ends",
    ),
    pattern("state", "work", rf"{_WHO} (?:now )?works at {_PLACE}{_TAIL}"),
    pattern("state", "work", rf"(?i:my) (?P<kin>{_SINGLE_KIN}|{_KIN}) (?:now )?works for {_PLACE}{_TAIL}"),
    pattern("state", "profession", rf"{_I} work as (?:an?|the) (?P<value>[\w-]+(?: [\w-]+){{0,3}})"),
    pattern("state", "profession", rf"{_WHO} works as (?:an?|the) (?P<value>[\w-]+(?: [\w-]+){{0,3}})"),
    pattern(
        "state",
        "marriage",
        rf"{_I}(?:'m| am|’m| got| have got) (?:now )?"
        rf"(?P<value>married(?! to my)|divorced|engaged(?! (?:on|with|in (?![A-Z\d])))|single|widowed){_TAIL}",
    ),
    pattern("state", "allergy:{value}", rf"{_I}(?:'m| am|’m) (?:very |severely )?allergic to {_THING}"),
    pattern("state", "allergy:{value}", rf"{_WHO} is (?:very |severely )?allergic to {_THING}"),
    pattern(
        "state",
        "life",
        rf"(?i:my) (?:(?:{_SINGLE_KIN}|{_KIN}) {_PERSON}|(?P<kin>{_SINGLE_KIN}|{_KIN}))(?: has)?"
        rf" (?P<value>died|passed away){_TAIL}",
    ),
    pattern("state", "life", rf"{_PERSON}(?: has)? (?P<value>died|passed away){_WHEN}"),
    pattern(
        "preference",
        "diet",
        rf"{_I}(?:'m| am|’m) (?:now )?(?:an? )?(?P<value>vegetarian|vegan|pescatarian){_SINCE}",
    ),
    pattern(
        "preference",
        "diet",
        rf"{_I}(?:'m| am|’m) (?:no longer|not) (?:an? )?(?P<value>vegetarian|vegan){_SINCE}",
        "ends",
    ),
    pattern("preference", "eats:{value}", rf"{_I} (?:don['’]t|do not|never|can['’]t) (?:eat|drink) {_FOOD}"),
    pattern(
        "preference",
        "eats:{value}",
        rf"{_I} (?:no longer (?:eat|drink)|stopped (?:eating|drinking)) {_FOOD}",
        "ends",
    ),
    pattern(
        "state",
        "smokes",
        rf"{_I}(?:'ve|’ve| have)? (?:quit|stopped|gave up|given up) (?P<value>smoking){_TAIL}",
        "ends",
    ),
    pattern(
        "preference",
        "favourite:{thing}",
        r"(?i:my favou?rite) (?P<thing>(?!(?:part|moment|scene|bit|line|one)\b)\w+(?: \w+)?) is "
        r"(?P<value>[\w'’-]+(?: [\w'’-]+){0,4})",
    ),
    pattern(
        "preference",
        "likes:{value}",
        rf"{_I} (?:no longer|don['’]t) (?:like|love|enjoy) {_THING} (?:any ?more|now)",
        "ends",
    ),
    pattern("preference", "likes:{value}", rf"{_I} no longer (?:like|love|enjoy) {_THING}", "ends"),
    pattern(
        "preference",
        "likes:{value}",
        rf"{_I} (?:really |absolutely |just )?(?:like|love|enjoy|adore|prefer) {_THING}",
    ),
    pattern(
        "preference",
        "likes:{value}",
        rf"{_I} (?:really |absolutely )?(?:hate|dislike|can['’]t stand{_OBJECT}|don['’]t like) {_THING}",
    ),
    pattern(
        "relation",
        "{rel}",
        rf"(?i:my) (?P<rel>{_SINGLE_KIN})(?:'s name|’s name)? is (?:called |named |{_NAMED}){_NAME}(?: now)?",
    ),
    pattern(
        "relation",
        "{rel}:{name}",
        rf"(?i:my) (?P<rel>{_KIN})(?:(?:'s name|’s name) is| is (?:called|named)) {_NAME}",
    ),
    pattern("relation", "{rel}:{name}", rf"(?i:my) (?P<rel>{_KIN}) {_NAME} [a-z].{{1,80}}"),
    pattern("relation", "{rel}", rf"(?i:my) (?P<rel>{_SINGLE_KIN}) {_NAME} [a-z].{{1,80}}"),
    pattern(
        "possession",
        "{pet}:{name}",
        rf"(?i:(?:I|we)(?: have|['’]ve got)) (?:an?|two|three) (?:\w+ )?(?P<pet>{_PET}) (?:called|named) {_NAME}",
    ),
    pattern(
        "possession",
        "{pet}:{name}",
        rf"(?i:my|our) (?P<pet>{_PET})(?:(?:'s name|’s name) is|(?: is)? (?:called|named)) {_NAME}{_TAIL}",
    ),
    pattern("possession", "{pet}:{name}", rf"(?i:my|our) (?P<pet>{_PET}) {_NAME} [a-z].{{1,80}}"),
)
