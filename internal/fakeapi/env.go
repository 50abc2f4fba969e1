package fakeapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Made-up people and tokens. They have the shape that the programs check for,
// and open nothing.
const (
	fakeAccount = "00000000-0000-4000-8000-000000000000"
	fakeEmail   = "fake@example.com"
	fakeOAuth   = "sk-ant-oat01-fake"
	fakeModel   = "gpt-5.5"
)

// ClaudeEnv signs a made-up subscriber in below home, a fresh directory, and
// returns the variables with which Claude Code talks to s.
func (s *Server) ClaudeEnv(home string) (env []string, err error) {
	dir := filepath.Join(home, ".claude")
	credentials := map[string]any{"claudeAiOauth": map[string]any{
		"accessToken":      fakeOAuth,
		"refreshToken":     "",
		"expiresAt":        time.Now().Add(240 * time.Hour).UnixMilli(),
		"scopes":           []string{"user:inference", "user:profile"},
		"subscriptionType": "max",
		"rateLimitTier":    "default_claude_max_5x",
	}}
	settled := map[string]any{"hasCompletedOnboarding": true, "numStartups": 1}
	for name, body := range map[string]any{".credentials.json": credentials, ".claude.json": settled} {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("sign in to the scripted Anthropic: %w", err)
		}
		if err := writeFile(filepath.Join(dir, name), b); err != nil {
			return nil, fmt.Errorf("sign in to the scripted Anthropic: %w", err)
		}
	}
	return append(s.walled(home),
		"CLAUDE_CONFIG_DIR="+dir,
		"ANTHROPIC_BASE_URL="+s.url,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1",
		"CLAUDE_CODE_MAX_RETRIES=2", // ten take three minutes
	), nil
}

// CodexEnv signs a made-up subscriber in below home, a fresh directory, and
// returns the variables with which Codex talks to s. It is a provider of its
// own: the built-in one wants TLS, packs its requests in a way that only it
// needs, and has no knobs for its retries.
func (s *Server) CodexEnv(home string) (env []string, err error) {
	dir := filepath.Join(home, ".codex")
	config := fmt.Sprintf(`model = %q
model_provider = "scripted"
check_for_update_on_startup = false
chatgpt_base_url = %q
# Nobody's keyring is asked.
cli_auth_credentials_store = "file"
mcp_oauth_credentials_store = "file"

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
requires_openai_auth = true
request_max_retries = 1
stream_max_retries = 1

[features]
unbounded_connection_retries = false
`, fakeModel, s.url+"/backend-api/", s.url+"/v1")
	auth, err := json.Marshal(map[string]any{
		"auth_mode":      "chatgpt",
		"OPENAI_API_KEY": nil,
		"tokens": map[string]any{
			"id_token": fakeJWT(), "access_token": fakeJWT(), "refresh_token": "fake-refresh", "account_id": fakeAccount,
		},
		"last_refresh": time.Now().UTC().Format(time.RFC3339Nano),
	})
	if err != nil {
		return nil, fmt.Errorf("sign in to the scripted OpenAI: %w", err)
	}
	for name, body := range map[string][]byte{"config.toml": []byte(config), "auth.json": auth} {
		if err := writeFile(filepath.Join(dir, name), body); err != nil {
			return nil, fmt.Errorf("sign in to the scripted OpenAI: %w", err)
		}
	}
	return append(s.walled(home),
		"CODEX_HOME="+dir,
		"CODEX_REFRESH_TOKEN_URL_OVERRIDE="+s.url+"/oauth/token",
	), nil
}

// GeminiEnv gives Gemini's program a made-up key below home, a fresh directory,
// and returns the variables with which it talks to s.
func (s *Server) GeminiEnv(home string) (env []string, err error) {
	settings := `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`
	if err := writeFile(filepath.Join(home, ".gemini", "settings.json"), []byte(settings)); err != nil {
		return nil, fmt.Errorf("sign in to the scripted Gemini: %w", err)
	}
	return append(s.walled(home), "GOOGLE_GEMINI_BASE_URL="+s.url, "GEMINI_API_KEY=fake-key"), nil
}

// OpencodeEnv gives opencode a provider of its own below home, a fresh
// directory, and returns the variables with which it talks to s.
func (s *Server) OpencodeEnv(home string) (env []string, err error) {
	config := map[string]any{
		"model": "scripted/fake", "small_model": "scripted/fake", "autoupdate": false, "share": "disabled",
		"provider": map[string]any{"scripted": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "scripted",
			"options": map[string]any{"baseURL": s.url + "/v1", "apiKey": "sk-fake"},
			"models":  map[string]any{"fake": map[string]any{"name": "fake", "limit": map[string]any{"context": 100000, "output": 4000}}},
		}},
	}
	b, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("sign in opencode: %w", err)
	}
	if err := writeFile(filepath.Join(home, ".config", "opencode", "opencode.json"), b); err != nil {
		return nil, fmt.Errorf("sign in opencode: %w", err)
	}
	return s.walled(home), nil
}

// walled is the part of all environments that keeps a program in: a home of
// its own, and a way out that ends here, where it is recorded and refused. A
// vendor's fixed hosts are so never reached, not even with a made-up token.
func (s *Server) walled(home string) []string {
	const local = "127.0.0.1,localhost,::1"
	return []string{
		"HOME=" + home,
		"HTTPS_PROXY=" + s.url, "https_proxy=" + s.url,
		"NO_PROXY=" + local, "no_proxy=" + local,
	}
}

// fakeJWT is a token that says who it is for, and is signed by nobody.
func fakeJWT() string {
	part := func(v any) string {
		b, _ := json.Marshal(v) // of maps of strings and numbers only
		return base64.RawURLEncoding.EncodeToString(b)
	}
	return part(map[string]any{"alg": "none", "typ": "JWT"}) + "." + part(map[string]any{
		"email": fakeEmail, "email_verified": true, "sub": "fake", "iat": time.Now().Unix(), "exp": time.Now().Add(240 * time.Hour).Unix(),
		"https://api.openai.com/auth": map[string]any{
			"chatgpt_plan_type": "plus", "chatgpt_account_id": fakeAccount, "chatgpt_user_id": "user-fake", "user_id": "user-fake",
		},
		"https://api.openai.com/profile": map[string]any{"email": fakeEmail},
	}) + ".ZmFrZQ"
}

func writeFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}
