package notice

// codes decide by themselves. RESOURCE_EXHAUSTED, rate_limit_error and their
// like are not here: a full quota, a burst and an empty purse all go by them.
var codes = map[string]Class{
	// Anthropic, and Claude Code's own words for it
	"usage_limit_reached":          Limit,
	"model_requires_usage_credits": Limit,
	"billing_error":                Billing,
	"authentication_failed":        Auth,
	"authentication_error":         Auth,
	"permission_error":             Auth,
	"oauth_org_not_allowed":        Auth,
	"overloaded":                   Server,
	"overloaded_error":             Server,
	"server_error":                 Server,
	"model_not_found":              Model,
	"prompt_too_long":              Context,
	"request_too_large":            Context,

	// Google: ErrorInfo.reason, then google.rpc.Code
	"QUOTA_EXHAUSTED":          Limit,
	"RATE_LIMIT_EXCEEDED":      Throttle,
	"MODEL_CAPACITY_EXHAUSTED": Server,
	"API_KEY_INVALID":          Auth,
	"ACCESS_TOKEN_EXPIRED":     Auth,
	"UNAUTHENTICATED":          Auth,
	"UNAVAILABLE":              Server,
	"INTERNAL":                 Server,

	// OpenAI and those who speak as it does
	"insufficient_quota":                             Billing,
	"billing_hard_limit_reached":                     Billing,
	"invalid_api_key":                                Auth,
	"token_expired":                                  Auth,
	"unsupported_country_region_territory":           Auth,
	"context_length_exceeded":                        Context,
	"server_is_overloaded":                           Server,
	"slow_down":                                      Server,
	"service_unavailable_error":                      Server,
	"subscription_sharing_usage_limit_exceeded":      Limit,
	"subscription_sharing_user_not_eligible":         Auth,
	"subscription_sharing_invalid_user":              Auth,
	"subscription_sharing_usage_unavailable":         Server,
	"subscription_sharing_usage_limit_not_available": Server,

	// Codex: codexErrorInfo
	"rateLimitExceeded":     Throttle,
	"unauthorized":          Auth,
	"modelNotFound":         Model,
	"contextWindowExceeded": Context,
	"sessionBudgetExceeded": Context,
	"internalServerError":   Server,
	"serverOverloaded":      Server,

	// Copilot, Kimi, OpenRouter, GLM, proxies
	"quota_exceeded":           Limit,
	"user_weekly_rate_limited": Limit,
	"user_global_rate_limited": Limit,
	"rate_limited":             Throttle,
	"access_terminated_error":  Limit,
	"model_cooldown":           Limit,
	"1308":                     Limit,
	"1310":                     Limit,
	"1113":                     Billing,
	"1302":                     Throttle,
	"1305":                     Throttle,
}

// Token is what a code means that decides by itself; None is any other. It is for
// those who must not go by words.
func Token(code string) Class { return codes[code] }

// leanings are codes that hold where neither the words nor the status say more.
var leanings = map[string]Class{
	"rate_limit":               Throttle,
	"rate_limit_error":         Throttle,
	"rate_limit_exceeded":      Throttle,
	"rate_limit_reached_error": Throttle,
	"RESOURCE_EXHAUSTED":       Throttle,
	"usageLimitExceeded":       Limit,
	"usage_limit_exceeded":     Limit,
	"api_error":                Server,
	"not_found_error":          Model,
	"request_forbidden":        Auth,
	"PERMISSION_DENIED":        Auth,

	"httpConnectionFailed":           Transport,
	"responseStreamConnectionFailed": Transport,
	"responseStreamDisconnected":     Transport,
	"responseTooManyFailedAttempts":  Transport,
}

// empty are words that name no cause at all.
var empty = map[string]bool{
	"": true, "error": true, "Error": true, "request_error": true, "unknown": true, "unknown_error": true, "other": true, "result": true, "assistant": true,
}

// statuses are what an HTTP status means where its notice says no more.
var statuses = map[int64]Class{
	401: Auth,
	402: Billing,
	403: Auth,
	407: Transport,
	408: Transport,
	413: Context,
	429: Throttle,
}

// shared are the statuses under which vendors send several causes, so that the
// notice is asked first: a sign-out and an empty purse as 400, a limit as 402
// and 403, an empty purse as 429. Every other status outweighs the text (R11).
var shared = map[int64]bool{400: true, 402: true, 403: true, 404: true, 429: true}
