package secret

import (
	"strings"
	"testing"
)

// join keeps the made-up credentials out of the sight of scanners that read
// this repository.
func join(parts ...string) string { return strings.Join(parts, "") }

func TestBlank(t *testing.T) {
	f, err := New()
	if err != nil {
		t.Fatal(err)
	}
	const noise = "q8Zt3Lw7Xr2Vn9Kp4Hs6Jd1Fg5Bm0Yc"
	for _, tt := range []struct{ name, text, secret, rule string }{
		{"F48 a cloud key", "export AWS=" + join("AKIA", "QYLPMN5HFIQR7XYA"), join("AKIA", "QYLPMN5HFIQR7XYA"), "aws-access-token"},
		{"F48 a token in a command", "git push https://x:" + join("ghp_", noise, "7Uo9P") + "@host/r", noise, "github-pat"},
		{"F48 the sign-in of Claude Code", "CLAUDE_CODE_OAUTH_TOKEN=" + join("sk-ant-", "oat01-", noise, noise), noise, "claude-sign-in"},
		{"F48 the sign-in of Codex", `"refresh":"` + join("rt_", noise, noise) + `"`, noise, "codex-refresh-token"},
		{"F48 a key that is only named one", `api_key = "` + noise + `"`, noise, "generic-api-key"},
		{"F48 a private key", "x\n" + join("-----BEGIN RSA ", "PRIVATE KEY-----\n") + strings.Repeat(noise+"\n", 4) + join("-----END RSA ", "PRIVATE KEY-----") + "\ny", noise, "private-key"},
		{"F48 a token that was signed", join("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.", "dBjftJeZ4CVPmB92K27uhbUJU1p1rwW1gFWFOEjXkAB"), "dBjftJeZ4CVPmB92", "jwt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, n := f.Blank("before " + tt.text + " after")
			if strings.Contains(got, tt.secret) || !strings.Contains(got, "[redacted: "+tt.rule) || n == 0 {
				t.Errorf("%d found: %s", n, got)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("more than the secret went: %s", got)
			}
		})
	}
	for _, text := range []string{
		"", "go test ./... is green", "commit 3f2a9c0d1b7e4f5a6c8d9e0f1a2b3c4d5e6f7a8b", "password = ${PASSWORD}", "api_key = $API_KEY",
		"the key idea is that a token bucket refills", "uuid 0b6c1de2-7f53-4c1e-9a44-0e7f7f6c1d2e",
	} {
		if got, n := f.Blank(text); got != text || n != 0 {
			t.Errorf("blanked %d in %q: %q", n, text, got)
		}
	}
}

func TestRulesCompile(t *testing.T) {
	f, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if len(f.rules) < 200 {
		t.Fatalf("only %d rules", len(f.rules))
	}
	for _, r := range f.rules {
		if r.Regex != "" {
			f.exp(r.Regex)
		}
		for _, a := range append([]allowlist{f.global}, r.Allowlists...) {
			for _, e := range a.Regexes {
				f.exp(e)
			}
		}
	}
}

func FuzzBlank(f *testing.F) {
	find, err := New()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("api_key = abc")
	f.Add(join("AKIA", "QYLPMN5HFIQR7XYA", "AKIA", "QYLPMN5HFIQR7XYA"))
	f.Fuzz(func(t *testing.T, text string) {
		if got, n := find.Blank(text); n == 0 && got != text {
			t.Errorf("changed without a find: %q", got)
		}
	})
}
