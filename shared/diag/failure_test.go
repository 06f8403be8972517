package diag_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/diag"
)

// TestFailure: of a URL only scheme and host stay, whatever a client said around it, and what looks
// like a credential goes, also where the text is cut.
func TestFailure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`Post "https://a:b@hooks.example/T0/tok?sig=1#x": EOF`: `Post "https://hooks.example/[path]": EOF`,
		"posting to https://hooks.example/T0/tok: refused":     "posting to https://hooks.example/[path]: refused",
		"https://hooks.example?token=abc, then":                "https://hooks.example/[path], then",
		"https://hooks.example/ is down (http://h:80)":         "https://hooks.example/ is down (http://h:80)",
		"WSS://h/x and http://user@h":                          "WSS://h/[path] and http://h",
		`{"url":"https:\/\/h","to":"https://h\/T0\/tok"}`:      `{"url":"https:\/\/h","to":"https://h/[path]"}`,
		`{"to":"https:\/\/a:b@hooks.example\/T0\/tok"}`:        `{"to":"https:\/\/hooks.example/[path]"}`,
		"dial amqp://guest:p@ss#w@mq:5672/v: refused":          "dial amqp://mq:5672/v: refused",
		`redis:\/\/:hunter2@cache, Postgres+TLS://me:pw@db/x`:  `redis:\/\/cache, Postgres+TLS://db/x`,
		"writing gs://bucket/a/b.jsonl: quota":                 "writing gs://bucket/a/b.jsonl: quota",
		"no \xff text":                                         "no \uFFFD text",
		"Authorization: Bearer abcdefghijklmnopqrstuvwxyz":     "Authorization: [credential]",
	} {
		if got := diag.Failure(text, 200); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	long := strings.Repeat("x", 180) + " https://hooks.example/secret-token-of-the-sender"
	if got := diag.Failure(long, 200); len(got) > 200 || strings.Contains(got, "secret") {
		t.Errorf("%q", got)
	}
}
