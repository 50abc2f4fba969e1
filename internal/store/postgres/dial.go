package postgres

import (
	"net"
	"time"
)

// silence is after how long a connection that is waited on is given up. A
// machine that lost its power or its network says nothing, for ever.
const silence = 30 * time.Second

func dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:         reaching,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence / 3, Interval: silence / 6, Count: 4},
		Control:         unanswered,
	}
}
