package notice

import (
	"regexp"
	"strings"
)

// class decides, in this order: a typed verdict or a code that decides, then
// the words where the status has several causes, then the status, then a code
// that only leans, then the words alone.
func (o opened) class(words string) (Class, Basis) {
	if o.verdict != None {
		return o.verdict, ByCode
	}
	said := byWords(words)
	c, decided := codes[o.code]
	if said == Limit && (o.status >= 500 || c == Server) && dated(words) {
		return Limit, ByWords // a pool of accounts sends its wall as a mere overload; its date gives it away
	}
	if decided {
		return c, ByCode
	}
	if o.status != 0 && !shared[o.status] {
		if said == Transport && viaProxy.MatchString(words) { // which invents statuses
			return said, ByWords
		}
		if c, ok := byStatus(o.status); ok {
			return c, ByStatus
		}
	}
	if said != None {
		return said, ByWords
	}
	if c, ok := byStatus(o.status); ok {
		return c, ByStatus
	}
	if c, ok := leanings[o.code]; ok {
		return c, ByCode
	}
	return None, Unfounded
}

func byStatus(status int64) (Class, bool) {
	if c, ok := statuses[status]; ok {
		return c, true
	}
	return Server, status >= 500 && status < 600
}

var viaProxy = regexp.MustCompile(`proxy|tunnel`)

// byWords reads the words of a failed call. The order is the knowledge: a purse
// is named in the words of a limit, and a throttle in the words of both.
func byWords(words string) Class {
	switch {
	case lifted.MatchString(words):
		return None
	case near.MatchString(words) && !spent(words):
		return Warning
	}
	for _, w := range firm {
		if w.in.MatchString(words) {
			return w.class
		}
	}
	if spent(words) {
		return Limit
	}
	for _, w := range loose {
		if w.in.MatchString(words) {
			return w.class
		}
	}
	return None
}

var (
	// going tells of a program that is not done with its call.
	going = regexp.MustCompile(`retrying (?:in|with|after|\d)|\battempt #?\d+ ?/ ?\d+|; retrying|reconnecting|continuing automatically|automatically switch|\[retrying`)

	lifted = regexp.MustCompile(`limit(?:s)? (?:has |have )?(?:been )?(?:reset|lifted|restored)\b(?: ·|[.!]|$)|limits?: (?:no|none|ok)\b`)

	near = regexp.MustCompile(`\bapproaching\b|\d+ ?% (?:of your|of the|used|left|remaining)|used (?:over|more than|about)? ?\d+ ?%|heads up|resets soon|close to (?:your|the)|nearing|almost (?:at|out|reached)|running low|` +
		`retrying after rate limit|trying to reach |metadata for .{0,60}not found\. defaulting|will (?:soon )?(?:hit|reach) your|could hit your`)
)

type clue struct {
	in    *regexp.Regexp
	class Class
}

// firm are words that only one cause has, though they hold those of others.
var firm = []clue{
	{regexp.MustCompile(`not your usage limit`), Throttle},
	{regexp.MustCompile(`proxyconnect|proxy ?error|cannot connect to proxy|tunnel(?:ing)? (?:connection|socket)`), Transport},
	{regexp.MustCompile(`throttl`), Throttle},
	{regexp.MustCompile(`exhausted your (?:daily|weekly|monthly) quota`), Limit},
	{regexp.MustCompile(`quota exceeded for (?:quota )?metric[^*]*per ?_?day`), Limit},
	{regexp.MustCompile(`quota exceeded for (?:quota )?metric`), Throttle},
	{regexp.MustCompile(`spend(?:ing)? (?:limit|cap)[^.]{0,20} · your [\w -]*limit resets`), Limit}, // the purse is for what goes beyond it
	{regexp.MustCompile(`(?:^|[^-])\bbalance\b|credits? (?:is|are|have|has) (?:been )?(?:too low|depleted|exhausted|used up|run out)|(?:insufficient|not enough|out of|no more|usage) (?:\w+ )?(?:credits?|funds)|(?:payment|credits?) required|payment (?:method|information|details|failed)|` +
		`\bbilling\b|spend(?:ing)? ?(?:limit|cap)|budget (?:limit|cap|exceeded)|out of usage ·|draw from your extra usage|usage allocation has been disabled|usage limit is set to \$0|seat type doesn't include|workspace api usage limits|reached your specified api usage limits|purchase (?:more )?credits to continue|` +
		`(?:monthly|workspace|org(?:anization)?'?s?) (?:usage )?budget|quota exceeded\. check your plan|upgrade to plus:`), Billing},
}

// loose are words of one cause where no limit is named.
var loose = []clue{
	{regexp.MustCompile(`context (?:window|length|limit)|token count .{0,40}exceeds|maximum number of tokens|prompt (?:is )?too long|input (?:is too long|length .{0,40}exceed|.{0,40}longer than the model)|request (?:is )?too large(?: ·|\.|$)`), Context},
	{regexp.MustCompile(`(?:add|buy) (?:funds|(?:more )?credits) to continue`), Billing},
	{regexp.MustCompile(`too many tokens per day|tokens per day|requests per day|\btpd\b|free-models-per-day|(?:weekly|monthly|daily) rate limit`), Limit},
	{regexp.MustCompile(`rate.?limit|too many (?:requests|tokens)|resource has been exhausted|tokens per min|requests per min|\bmax rpm\b|\brpm\b|temporarily limiting|\(code 429\)|status(?: code)?:? 429|\b429 too many|free-models-per-min|concurrency limit|reduce your request rate`), Throttle},
	{regexp.MustCompile(`missing environment variable|\bnot (?:signed|logged) in|sign in\b|signed out|log ?in (?:again|expired)|login expired|run /login|please (?:log|sign) ?in|api key|no auth|auth(?:entication)? (?:method|type|is|failed|error|information|required)|failed to authenticate|credentials|unauthenticated|unauthorized|401 |oauth|access token|refresh token|security token|signature expired|token (?:has )?expired|denied access|access denied|not eligible|ineligible|verify your account|region,? or territory|organization has (?:been )?disabled|no longer a member|subscription access|session (?:has )?expired`), Auth},
	{regexp.MustCompile(`\bmodel\b.{0,80}(?:not found|does not exist|not supported|not available|deprecated|retired|no access)|unknown model|invalid model|^model: |no such model|model not found|issue with the selected model`), Model},
	{regexp.MustCompile(`overloaded|high (?:traffic|demand)|no capacity|at capacity|out of capacity|capacity (?:constraints|error)|internal (?:server )?error|service unavailable|temporarily unavailable|bad gateway|gateway time|execution terminated due to error|error code: 5\d\d|error occurred while processing your request|\b50[0-4] |\b529\b|request budget exhausted|server had an error|(?:model|service) is (?:temporarily )?(?:unavailable|down)`), Server},
	{regexp.MustCompile(`fetch failed|routing discovery failed|failed to fetch|network (?:issue|error|is|connection)|waiting for network|connection (?:refused|reset|failed|error|closed|aborted|lost|timed)|connect error|econn|enotfound|etimedout|epipe|ehostunreach|enetunreach|eai again|name resolution|dns error|resolve host|no such host|socket hang up|other side closed|x509|certificate|\bcert\b|self.signed|connectionerror|max retries exceeded with url|\bssl\b|\btls\b|timed? ?out|no route to host|unreachable|stream (?:closed|disconnected|ended)|error sending request|unable to connect|failed to connect|internet connection|offline|access blocked by cloudflare|premature close|unexpected eof`), Transport},
}

var (
	// A notice speaks of its reader ("you've hit your weekly limit") or of the
	// limit itself ("5-hour limit reached"); which limit it is stands between.
	ofReader = regexp.MustCompile(`(?:you(?:'ve| have)?|your (?:account|org|organization|team|plan|workspace) has|accounts have|request(?:s)? (?:has |have )?) ?(?:already |just )?(?:hit|reached|exceeded|exhausted|used up|used all(?: of)?|run out of) (?:your|the|all|all your|their|its|this)((?: [\w.'()/-]+){0,5}?) ?(?:limits?|quota|allowances?|capacity|requests|usage)\b`)
	ofLimit  = regexp.MustCompile(`((?:[\w.'()-]+ ){0,4})(?:limits?|quota|allowance|capacity|usage) (?:of [\w -]{1,20} |for [\w .-]{1,30} )?(?:(?:has|have) (?:already )?been |was |is |already )?(?:reached|hit|exceeded|exhausted|used up|depleted)`)
	inShort  = regexp.MustCompile(`^\W*(?:usage|session|weekly|5-hour) limit · resets|^\W*your (?:usage )?limit will reset at |out of (?:extra |free )?usage|\bno (?:remaining )?quota|límite de uso|cooling down|usage limit now resets more than|exceeded your (?:copilot )?token usage|limit reached again|continuing automatically at|exhausted (?:your|their) [\w ]{0,30}(?:quota|capacity)|increase your quota limit|exceeded your (?:current )?quota`)

	// others are limits that are none of an engine's: of disks and registries,
	// of retries and contexts.
	others = regexp.MustCompile(`\b(?:pull|disk|storage|retry|retries|thread|threads|file|files|watchers?|export|publish|upload|download|push|build|context|tokens?|character|line|memory|cpu|gpu|connection|concurrent|concurrency|recursion|depth|time|size|turns?|step|steps|iteration|loop|stack|heap|maximum|minimum|email|sms|row|rows|page|instance|seat|project|recursion|nesting|rate|burst|speed|attempt|attempts|system|inode|query|job|pod|container)\b`)
	// windowedRate is a rate over so long a time that it is a usage window.
	windowedRate = regexp.MustCompile(`\b(?:weekly|daily|monthly|hourly|\d+[- ]hour) rate\b`)
)

// spent reports whether a usage window is said to be used up.
func spent(words string) bool {
	if inShort.MatchString(words) {
		return true
	}
	for _, in := range []*regexp.Regexp{ofReader, ofLimit} {
		for _, m := range in.FindAllStringSubmatch(words, 16) {
			if which := m[1]; !others.MatchString(which) || windowedRate.MatchString(which) {
				return true
			}
		}
	}
	return false
}

// foreign are the words of another program, or of a list of old notices, that
// share a channel with an engine's.
var foreign = regexp.MustCompile(`^\W*(?:(?:curl|wget|npm|npx|pnpm|yarn|pip|uv|cargo|git|fatal|remote|docker|ssh|scp|rsync|psql|make|gcc|go|node|bash|sh|zsh|gh|brew|apt|kubectl|terraform|toomanyrequests|telemetry|tip|hint)\b(?: \S+)?(?: err!?)?[:!]|` +
	`(?:error: )?rpc failed; http|mcp\b|(?:ok|pass|fail|---) |\d+ (?:passed|failed)|(?:tests?|test suites|test files):? +\d)|\btests?: +\d+ (?:passed|failed)|\bpull rate limit|` +
	`^\W*[\w ]{0,20}limits?(?: reached)?: \d|^\+ ?\S+.*[{}();]|^@@ |^diff |statusline|telemetry upload|design login|mcp (?:server|oauth|tool)|auto-?update`)

// vendors are who an engine's call is made to. A program that prints of a dead
// route among its output may as well mean its own database.
var vendors = regexp.MustCompile(`\bapi\b|internet|anthropic|openai|google|claude|codex|gemini|copilot|\bstream\b|request timed out`)

// logLine is a line of a log or of a search: a time or a place stands before its words.
var logLine = regexp.MustCompile(`^\W*(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|\w+/\S*:\d+|\S+\.(?:go|py|ts|js|rs|md|log|txt|java|rb|sh):|\[\w+\] |\|)`)

// opens reports whether words begin as a notice does: with one, or with the
// few words that programs put before one. What a program prints in the middle
// of its output is not the notice of its end.
func opens(words string) bool {
	words = strings.TrimLeft(words, " ·×*>-!|[]()0123456789#:.")
	return opening.MatchString(words)
}

var opening = regexp.MustCompile(`^(?:(?:[\w ]{0,24}error(?: running [\w ]{1,40})?|agent execution terminated due to error|automatic continue stopped|stream [\w ]{1,40}|failed to authenticate|sorry|warning|info|notice|please run /login)(?: \d{3}[\w ]*| \([^)]*\))?(?:[:.,]| ·| \(|$)|` +
	`(?:api|llm|model|http) |you(?:'|’)?(?:ve| have|re| are)\b|your |tu |(?:claude|codex|gemini|copilot|chatgpt|opus|sonnet|haiku|fable|session|weekly|daily|monthly|hourly|usage|spend|rate|free|\d+[- ]?h(?:ou)?r|hour|individual|baseline|allocated|qwen|too many|resource|quota|limit)\b|` +
	`not (?:logged|signed) in|login expired|credit balance|invalid api key|oauth |there's an issue |prompt |the (?:input|model|usage|request|server)|this (?:request|model|organization)|request |unable to |connection |our servers|we're |we are |server |repeated |an? |heads up|approaching |access |all (?:available )?(?:accounts|credentials)|trying |retrying |reconnecting|execution |current |error|→|⚠)`)
