package packet

// How large a packet may be. Everything is counted as a token a byte, which no
// tokenizer exceeds, so that a packet that fits here fits everywhere.
const (
	Cap           = 16_000 // what a packet is given where nothing else is said
	minCap        = 1_024
	maxCap        = 64_000
	UnknownWindow = 128_000 // of an engine that does not tell its context window
	reserve       = 16_000  // what its answer is left at least
)

// Budget is the room for quoted items (F39): capped, and leaving a quarter of
// the engine's context window to its answer. Used is what its conversation
// holds already, current the message itself. 0 as limit or window is the usual
// one.
func Budget(limit, window, used, current int) int {
	if limit == 0 {
		limit = Cap
	}
	if window == 0 {
		window = UnknownWindow
	}
	limit = min(max(limit, minCap), maxCap)
	return max(0, min(limit, window-used-current-max(reserve, window/4)))
}
