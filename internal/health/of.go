package health

import (
	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
)

// Of is what a failure says of its route. Only typed signals count: a status
// that was sent, the vendor's own word, the cause that was read of them. A text
// that speaks of permissions or of an outage is no such thing (Z68, Z71).
func Of(f paceline.Failure) Kind {
	switch f.Cause {
	case paceline.CauseTransport, paceline.CauseServer, paceline.CauseAuth, paceline.CauseOther:
		if refuses[f.Status] {
			return Denied
		}
	case paceline.CauseUnknown, paceline.CauseUsageLimit, paceline.CauseThrottle, paceline.CauseBilling, paceline.CauseModel,
		paceline.CauseContext, paceline.CauseStall, paceline.CauseCrash, paceline.CauseStopped:
	}
	switch f.Cause {
	case paceline.CauseTransport, paceline.CauseStall:
		return Transport
	case paceline.CauseServer:
		return Server
	case paceline.CauseAuth:
		if notice.Token(f.Code) == notice.Auth {
			return Denied
		}
		return Nothing // somebody's words for it
	case paceline.CauseUsageLimit, paceline.CauseThrottle, paceline.CauseBilling:
		return Capacity
	case paceline.CauseContext:
		return Session
	case paceline.CauseModel:
		return ModelRefused
	case paceline.CauseUnknown, paceline.CauseCrash, paceline.CauseStopped, paceline.CauseOther:
	}
	return Nothing
}

// refuses are the statuses with which a vendor refuses an account or an address.
var refuses = map[int]bool{401: true, 403: true, 404: true}
