package cause

import "github.com/paceline/paceline"

// codes decide by themselves. RESOURCE_EXHAUSTED and its like are not here: a
// full quota, a burst and an empty purse all go by them.
var codes = map[string]paceline.Cause{
	// Google: ErrorInfo.reason, then google.rpc.Code
	"QUOTA_EXHAUSTED":          paceline.CauseUsageLimit,
	"RATE_LIMIT_EXCEEDED":      paceline.CauseThrottle,
	"MODEL_CAPACITY_EXHAUSTED": paceline.CauseServer,
	"API_KEY_INVALID":          paceline.CauseAuth,
	"ACCESS_TOKEN_EXPIRED":     paceline.CauseAuth,
	"UNAUTHENTICATED":          paceline.CauseAuth,
	"UNAVAILABLE":              paceline.CauseServer,
	"INTERNAL":                 paceline.CauseServer,

	// OpenAI and those who speak as it does
	"insufficient_quota":      paceline.CauseBilling,
	"invalid_api_key":         paceline.CauseAuth,
	"model_not_found":         paceline.CauseModel,
	"context_length_exceeded": paceline.CauseContext,

	// Copilot
	"quota_exceeded":           paceline.CauseUsageLimit,
	"user_weekly_rate_limited": paceline.CauseUsageLimit,
	"rate_limited":             paceline.CauseThrottle,

	// Claude over ACP: data.errorKind. Its rate_limit is a 429 whose cause it
	// does not tell.
	"rate_limit":            paceline.CauseThrottle,
	"usage_limit_reached":   paceline.CauseUsageLimit,
	"billing_error":         paceline.CauseBilling,
	"authentication_failed": paceline.CauseAuth,
	"authentication_error":  paceline.CauseAuth,
	"overloaded":            paceline.CauseServer,
	"overloaded_error":      paceline.CauseServer,
	"server_error":          paceline.CauseServer,

	// Codex over ACP: data.codexErrorInfo
	"rateLimitExceeded":     paceline.CauseThrottle,
	"unauthorized":          paceline.CauseAuth,
	"modelNotFound":         paceline.CauseModel,
	"contextWindowExceeded": paceline.CauseContext,
	"internalServerError":   paceline.CauseServer,
	"serverOverloaded":      paceline.CauseServer,
}

// statuses are what an HTTP status means where its notice says no more.
var statuses = map[int64]paceline.Cause{
	401: paceline.CauseAuth,
	402: paceline.CauseBilling,
	403: paceline.CauseAuth,
	408: paceline.CauseTransport,
	413: paceline.CauseContext,
	429: paceline.CauseThrottle,
}

// shared are the statuses under which vendors send several causes, so that the
// notice is asked first: a sign-out and an empty purse as 400, a limit as 402
// and 403, an empty purse as 429.
var shared = map[int64]bool{400: true, 402: true, 403: true, 404: true, 429: true}
