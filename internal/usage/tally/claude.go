package tally

import "bytes"

// Entry is what one row of a transcript says an answer cost.
type Entry struct {
	// Key is the same for the rows of one answer: they bear its message's id and
	// its request's, or, without a request's, were written in one conversation at
	// one moment. 0 where the row names no message: it is like no other.
	Key uint64
	// Talk is the same for the rows that bear one message's id in one
	// conversation, however often it was asked for.
	Talk  uint64
	At    int64 // milliseconds
	Model string
	Tokens
	// Price is what the tokens cost in proportion: of two rows that used the same
	// in all, the dearer one stands. 0 where no model answered.
	Price uint64
	Side  bool // a branch beside the conversation: it repeats what it branched from
	Fast  bool // billed as fast
	Speed bool // the row says at which speed
}

// ClaudeMark is in every row that counts, and a row without it is not looked at.
var ClaudeMark = []byte(`"usage":{`)

// ClaudeRow adds the entries of a row to those of its file before it. Session
// is the conversation that the file's place tells, for rows that do not say
// theirs.
func ClaudeRow(to []Entry, row []byte, session string, names Names) []Entry {
	c := cursor{b: row, texts: true, null: voids}
	var own, told answer // the row's own answer, or one that an agent told of
	own.session = []byte(session)
	told.session = own.session
	for m := c.enter('{', '}'); m; m = c.more('}') {
		switch k := c.key(); string(k) {
		case "data":
			c.told(&told)
		case "sessionId":
			told.text(&c, &told.session, fSession)
			own.session, own.seen, own.bad = told.session, own.seen|fSession, own.bad || told.bad
		case "version":
			var v []byte
			own.text(&c, &v, fVersion)
			own.bad = own.bad || !version(v)
		default:
			c.member(&own, k)
		}
	}
	switch {
	case !c.end():
		return to
	case own.whole():
		return own.entries(to, names)
	case told.whole():
		told.iterations = nil
		return told.entries(to, names)
	}
	return to
}

// voids are the names that no row may give a null, wherever it stands.
func voids(key []byte) bool {
	switch string(key) {
	case "id", "model", "speed", "cwd", "version", "sessionId", "requestId", "costUSD",
		"isApiErrorMessage", "cache_read_input_tokens", "cache_creation_input_tokens":
		return true
	}
	return false
}

// answer is what a row says of one answer.
type answer struct {
	session, request, id, model []byte
	at                          int64
	tokens                      Tokens
	hour                        uint64 // of what was written, what is kept for an hour
	side, fast, speed           bool
	iterations                  []byte
	bad                         bool
	seen                        field
}

// field is a bit for each name that may stand once.
type field uint32

const (
	fSession field = 1 << iota
	fVersion
	fTime
	fMessage
	fCost
	fRequest
	fSide
	fID
	fModel
	fUsage
	fInput
	fOutput
	fWrite
	fRead
	fSpeed
	fCreation
	fFive
	fHour
	fData
)

// once notes a name; one that stands twice spoils the row.
func (a *answer) once(f field) {
	a.bad = a.bad || a.seen&f != 0
	a.seen |= f
}

func (a *answer) whole() bool {
	const needed = fTime | fMessage | fUsage | fInput | fOutput
	return !a.bad && a.seen&needed == needed
}

// text reads a text that is not empty.
func (a *answer) text(c *cursor, to *[]byte, f field) {
	a.once(f)
	if c.space() != '"' {
		a.bad = true
		c.skip()
		return
	}
	*to, _ = c.text()
	a.bad = a.bad || len(*to) == 0
}

func (a *answer) count(c *cursor, to *uint64, f field) {
	a.once(f)
	if b := c.space(); b != '-' && !digit(b) {
		a.bad = true
		c.skip()
		return
	}
	digits, _ := c.number()
	n, ok := count(digits)
	*to, a.bad = n, a.bad || !ok
}

// told reads an answer of an agent that the row reports on: data.message is
// built as a row is.
func (c *cursor) told(a *answer) {
	a.once(fData)
	if c.space() != '{' {
		a.bad = true
		c.skip()
		return
	}
	seen := false
	for m := c.enter('{', '}'); m; m = c.more('}') {
		if string(c.key()) != "message" || c.space() != '{' {
			c.skip()
			continue
		}
		a.bad = a.bad || seen
		seen = true
		for m := c.enter('{', '}'); m; m = c.more('}') {
			c.member(a, c.key())
		}
	}
}

// member reads what a row and an agent's answer have in common.
func (c *cursor) member(a *answer, k []byte) {
	switch string(k) {
	case "timestamp":
		var t []byte
		a.text(c, &t, fTime)
		at, ok := moment(t)
		a.at, a.bad = at, a.bad || !ok
	case "requestId":
		a.text(c, &a.request, fRequest)
	case "isSidechain":
		a.once(fSide)
		switch b := c.space(); b {
		case 't':
			a.side = c.word("true")
		case 'f', 'n':
			c.skip()
		default:
			a.bad = true
			c.skip()
		}
	case "costUSD":
		a.once(fCost)
		if b := c.space(); b != '-' && !digit(b) {
			a.bad = true
		}
		c.skip()
	case "message":
		a.once(fMessage)
		c.message(a)
	default:
		c.skip()
	}
}

func (c *cursor) message(a *answer) {
	if c.space() != '{' {
		a.bad = true
		c.skip()
		return
	}
	for m := c.enter('{', '}'); m; m = c.more('}') {
		switch string(c.key()) {
		case "id":
			a.text(c, &a.id, fID)
		case "model":
			a.text(c, &a.model, fModel)
		case "usage":
			a.once(fUsage)
			c.usage(a)
		default:
			c.skip()
		}
	}
}

func (c *cursor) usage(a *answer) {
	if c.space() != '{' {
		a.bad = true
		c.skip()
		return
	}
	var split, written uint64
	for m := c.enter('{', '}'); m; m = c.more('}') {
		switch string(c.key()) {
		case "input_tokens":
			a.count(c, &a.tokens.Input, fInput)
		case "output_tokens":
			a.count(c, &a.tokens.Output, fOutput)
		case "cache_read_input_tokens":
			a.count(c, &a.tokens.CacheRead, fRead)
		case "cache_creation_input_tokens":
			a.count(c, &written, fWrite)
		case "cache_creation":
			split = c.creation(a)
		case "speed":
			var v []byte
			a.text(c, &v, fSpeed)
			a.speed, a.fast = true, string(v) == "fast"
			a.bad = a.bad || !a.fast && string(v) != "standard"
		case "iterations":
			c.space()
			from := c.i
			// What was no model's iteration may have no model.
			c.null = func(key []byte) bool { return string(key) != "model" && voids(key) }
			c.skip()
			c.null = voids
			a.iterations = c.b[from:c.i]
		default:
			c.skip()
		}
	}
	a.tokens.CacheWrite = written
	if a.seen&fCreation != 0 {
		a.tokens.CacheWrite = split
	}
	a.tokens.total()
}

func (t *Tokens) total() { t.Total = t.Input + t.Output + t.CacheWrite + t.CacheRead }

// creation is what was written for five minutes and for an hour. Where it is
// told, it stands for the sum that is told beside it.
func (c *cursor) creation(a *answer) uint64 {
	if c.space() == 'n' {
		c.skip()
		return 0
	}
	a.once(fCreation)
	if c.space() != '{' {
		a.bad = true
		c.skip()
		return 0
	}
	var five uint64
	for m := c.enter('{', '}'); m; m = c.more('}') {
		switch string(c.key()) {
		case "ephemeral_5m_input_tokens":
			a.count(c, &five, fFive)
		case "ephemeral_1h_input_tokens":
			a.count(c, &a.hour, fHour)
		default:
			c.skip()
		}
	}
	return five + a.hour
}

// version reports whether v begins as a version does: 2.1.0.
func version(v []byte) bool {
	for part := range 3 {
		n := 0
		for n < len(v) && digit(v[n]) {
			n++
		}
		if n == 0 {
			return false
		}
		if v = v[n:]; part < 2 {
			if len(v) == 0 || v[0] != '.' {
				return false
			}
			v = v[1:]
		}
	}
	return true
}

var (
	advisor   = []byte(`"advisor_message"`)
	synthetic = []byte("<synthetic>")
	fastMode  = []byte("-fast")
)

// entries adds the answer, and the advisors that were asked on the way to it:
// they are billed beside it, by their own model.
func (a *answer) entries(to []Entry, names Names) []Entry {
	e := Entry{At: a.at, Tokens: a.tokens, Price: a.price(), Side: a.side, Fast: a.fast, Speed: a.speed, Model: names.of(a.model)}
	if a.fast && len(a.model) > 0 && !bytes.Equal(a.model, synthetic) {
		e.Model = names.of(append(bytes.Clone(a.model), fastMode...))
	}
	e.Key, e.Talk = a.keys(0)
	to = add(to, e)
	if bytes.Contains(a.iterations, advisor) {
		to = a.advisors(to, names)
	}
	return to
}

// keys are the row's two, for its answer or for its nth advisor.
func (a *answer) keys(nth int) (answer, talk uint64) {
	if a.seen&fID == 0 {
		return 0, 0
	}
	id := newKey.text(a.id).number(int64(nth))
	talk = id.number(1).text(a.session).sum()
	if a.seen&fRequest != 0 {
		return id.number(2).text(a.request).sum(), talk
	}
	return id.number(3).text(a.session).number(a.at).sum(), talk
}

func (a *answer) advisors(to []Entry, names Names) []Entry {
	c := cursor{b: a.iterations}
	had := len(to)
	out := to
	nth := 0
	for m := c.enter('[', ']'); m; m = c.more(']') {
		if c.space() != '{' {
			return to[:had]
		}
		var kind, model []byte
		var split uint64
		var it answer
		for m := c.enter('{', '}'); m; m = c.more('}') {
			switch string(c.key()) {
			case "type":
				kind, _ = c.text()
			case "model":
				it.text(&c, &model, fModel)
			case "input_tokens":
				it.count(&c, &it.tokens.Input, fInput)
			case "output_tokens":
				it.count(&c, &it.tokens.Output, fOutput)
			case "cache_read_input_tokens":
				it.count(&c, &it.tokens.CacheRead, fRead)
			case "cache_creation_input_tokens":
				it.count(&c, &it.tokens.CacheWrite, fWrite)
			case "cache_creation":
				split = c.creation(&it)
			default:
				c.skip()
			}
		}
		const needed = fInput | fOutput
		switch {
		case string(kind) != "advisor_message":
			continue
		case it.seen&needed != needed || it.bad && len(model) > 0:
			return to[:had]
		case len(model) == 0:
			continue
		}
		if it.seen&fCreation != 0 {
			it.tokens.CacheWrite = split
		}
		it.tokens.total()
		nth++
		it.model = model
		e := Entry{At: a.at, Model: names.of(model), Tokens: it.tokens, Price: it.price(), Side: a.side}
		e.Key, e.Talk = a.keys(nth)
		out = append(out, e)
	}
	if c.bad {
		return to[:had]
	}
	return out
}

// add keeps one of two rows in a row that are of one answer, in one
// conversation: nothing that comes later can tell which was first.
func add(to []Entry, e Entry) []Entry {
	if n := len(to) - 1; n >= 0 && e.Key != 0 && to[n].Key == e.Key && to[n].Talk == e.Talk && to[n].Side == e.Side {
		if better(&e, &to[n]) {
			to[n] = e
		}
		return to
	}
	return append(to, e)
}

// better reports whether e is to stand for an answer in place of was. A row of
// the conversation goes before one of a branch; then the one that used more,
// since an answer's first rows are written before it ends. Of two that used the
// same in all, the dearer one stands.
func better(e, was *Entry) bool {
	switch {
	case e.Side != was.Side:
		return was.Side
	case e.Total != was.Total:
		return e.Total > was.Total
	case e.Fast != was.Fast:
		return e.Fast
	case e.Price != was.Price:
		return e.Price > was.Price
	}
	return e.Speed && !was.Speed
}

// price weighs tokens as Claude's models are priced, every one of them: what
// comes out costs five times what goes in, and a cache is dear to write, dearer
// for an hour, and cheap to read.
func (a *answer) price() uint64 {
	if len(a.model) == 0 || bytes.Equal(a.model, synthetic) {
		return 0
	}
	t := &a.tokens
	return 100*t.Input + 500*t.Output + 125*t.CacheWrite + 75*a.hour + 10*t.CacheRead
}
