package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/jsonscan"
)

// FuzzValid: what is valid is what encoding/json says, and what is compact is what it leaves as it is.
func FuzzValid(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { compare(t, text) })
}

// compare compares with encoding/json.
func compare(t *testing.T, text string) {
	t.Helper()
	valid, compact := jsonscan.Valid([]byte(text))
	if want := json.Valid([]byte(text)); valid != want {
		t.Fatalf("%.200q is valid: %v, want %v", text, valid, want)
	}
	var packed bytes.Buffer
	if valid && (json.Compact(&packed, []byte(text)) != nil || compact != (packed.String() == text)) {
		t.Fatalf("%.200q is compact: %v, and %q is", text, compact, packed.String())
	}
}

func texts() []string {
	all := []string{
		``, ` `, `{}`, `[]`, ` { } `, `[ ]`, `{"a":1}`, `{"a" : [1, 2.5e-3, -0, true, false, null]}`,
		`{"a":{"b":[{}]},"c":""}`, `{"a":1,}`, `[1,]`, `{,}`, `[,]`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1`, `[1`, `[1}`,
		`{"a":1]`, `1 2`, `{}{}`, `]`, `}`,
		`0`, `-`, `-1`, `01`, `1.`, `.5`, `1e`, `1e+`, `1E-7`, `+1`, `1.5.2`, `tru`, `truee`, `nul`, `NaN`, `"`, `"\`, `"\"`,
		`"\u12"`, `"\u12aF"`, `"\u12ag"`, `"\x"`, `"\b\f\n\r\t\/\\\""`, "\"\x1f\"",
		"\"\x7f\u00e9\u2028\"", "\"\xff\"", "\x00", "\ufeff{}",
		`{"":"","":0}`, `[[[[]]]]`, `{"a":"b" "c":1}`, `{"a":1 "b":2}`, `["a" "b"]`, `[1 2]`,
		"\v{}", "{}\x00", "1\u00a0",
	}
	for n := range 20 { // each place within eight bytes
		for _, inside := range []string{`\"`, `"`, "\n", `\n`, "\x1f", " ", "\x80", `\u0041`} {
			all = append(all, `["`+strings.Repeat("x", n)+inside+strings.Repeat("y", 19-n)+`"]`)
		}
	}
	return all
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, text := range texts() {
		compare(t, text)
	}
	for b := range 256 { // each byte, in each place
		for _, form := range []string{
			"Z", "[Z]", `{"a"Z1}`, `["aaaaZbbbbbbb"]`, `"aaaaaaaaa\Z"`, `1Z`, `-Z`, `"\uZ000"`,
		} {
			compare(t, strings.ReplaceAll(form, "Z", string([]byte{byte(b)})))
		}
	}
}

// TestValidDepth: the nesting is bounded, and takes no stack.
func TestValidDepth(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{31, 32, 33, 9_999, 10_000, 10_001, 1_000_000} {
		for _, pair := range []string{"[]", `{"a":1}`} {
			opening, closing := pair[:1], pair[len(pair)-1:]
			if opening == "{" {
				opening = `{"a":`
			}
			compare(t, strings.Repeat(opening, depth)+"1"+strings.Repeat(closing, depth))
		}
	}
}

func BenchmarkValid(b *testing.B) {
	for name, sentence := range map[string]string{
		"plain": "It came late, and the box was open. ", "escapes": `It came late, and the box was \"open\".\n`,
	} {
		text := []byte(`{"contents":[{"parts":[{"text":"` + strings.Repeat(sentence, 25_000) + `"}]}]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if valid, _ := jsonscan.Valid(text); !valid {
					b.Fatal("it is valid")
				}
			}
		})
		b.Run(name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				json.Valid(text)
			}
		})
	}
}
