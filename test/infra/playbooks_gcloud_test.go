package infra_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// pretendedGcloud hands its command line, and its input if it reads any, to the test, which answers with
// whether the call failed, and what is printed. Bash connects by itself: a start of curl is as long as
// one of opledger.
const pretendedGcloud = `#!/bin/bash
case "$*" in *--data-file=-*) set -- "$@" "stdin:$(cat)" ;; esac
exec 3<>"/dev/tcp/$GCLOUD"
printf '%s\0' "$#" "$@" >&3
read -r -u 3 failed
IFS= read -r -d '' -u 3 answer # to its end
if [ "$failed" = false ]; then
  [ -z "$answer" ] || printf '%s\n' "$answer"
else
  printf 'ERROR: (gcloud) %s\n' "$answer" >&2
  exit 1
fi
`

// A called is a call of gcloud.
type called struct {
	words []string // without flags
	flags []string
	stdin string
}

func (c called) flag(name, otherwise string) string {
	for _, flag := range c.flags {
		if value, ok := strings.CutPrefix(flag, "--"+name+"="); ok {
			return value
		}
	}
	return otherwise
}

// is reports whether the call is of a command, and has the name of a resource that it is about.
func (c called) is(command string) bool {
	return strings.HasPrefix(strings.Join(c.words, " ")+" ", command+" ")
}

// last is the last word without the prefix of the deployment.
func (c called) last() string { return strings.TrimPrefix(c.words[len(c.words)-1], "opledger-") }

var valueFormat = regexp.MustCompile(`^value\((.*)\)$`)

// printed prints resources in the format that was asked for: value(…), json(…), or all of them.
func (c called) printed(resources ...any) (string, error) {
	var lines []string
	format := c.flag("format", "")
	for _, resource := range resources {
		e, ok := resource.(entry)
		if !ok {
			e = entry{fields: resource.(map[string]any)}
		}
		fields := valueFormat.FindStringSubmatch(format)
		if fields == nil {
			text, err := json.Marshal(e.fields)
			if err != nil {
				return "", err
			}
			lines = append(lines, string(text))
			continue
		}
		var values []string
		for name := range strings.SplitSeq(fields[1], ",") {
			name, decoded := strings.CutSuffix(name, ".decode(base64)")
			name, base := strings.CutSuffix(name, ".basename()")
			value := e.field(name)
			if value == nil {
				value = ""
			}
			if base {
				value = path.Base(fmt.Sprint(value))
			}
			if decoded {
				text, err := base64.StdEncoding.DecodeString(fmt.Sprint(value))
				if err != nil {
					return "", err
				}
				value = string(text)
			}
			values = append(values, fmt.Sprint(value))
		}
		lines = append(lines, strings.Join(values, "\t"))
	}
	return strings.Join(lines, "\n"), nil
}

// serveGcloud listens for calls of gcloud, and returns its address as bash writes it.
func (o *oncall) serveGcloud() (address string) {
	o.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		o.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			wire, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			served.Go(func() {
				defer wire.Close()
				answer, err := o.hear(wire)
				if err != nil {
					answer = err.Error()
				}
				_, _ = fmt.Fprintf(wire, "%t\n%s", err != nil, strings.TrimRight(answer, "\n"))
			})
		}
	})
	o.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
	return strings.Replace(listener.Addr().String(), ":", "/", 1)
}

// hear reads a call of gcloud and answers it; what is not known fails.
func (o *oncall) hear(wire io.Reader) (answer string, err error) {
	var c called
	reader := bufio.NewReader(wire)
	next := func() string {
		word, _ := reader.ReadString(0) // a call that is cut is none that is known
		return strings.TrimSuffix(word, "\x00")
	}
	count, _ := strconv.Atoi(next())
	if count < 2 {
		return "", errors.New("this call of gcloud has no command")
	}
	for range count {
		word := next()
		if input, ok := strings.CutPrefix(word, "stdin:"); ok {
			c.stdin = input
		} else if strings.HasPrefix(word, "--") {
			c.flags = append(c.flags, word)
		} else {
			c.words = append(c.words, word)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answerCall(c)
}
