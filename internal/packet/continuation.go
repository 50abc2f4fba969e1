package packet

import _ "embed"

// Continuation is sent to a conversation that holds the request already, and
// whose turn was cut short. It is never the request itself.
//
//go:embed continuation.txt
var Continuation string
