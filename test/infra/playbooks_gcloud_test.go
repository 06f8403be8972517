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

// answerCall answers a call. The caller holds mu.
func (o *oncall) answerCall(c called) (string, error) {
	function := c.last()
	switch {
	case c.is("logging read"):
		return o.read(c)
	case c.is("functions describe"):
		return c.printed(o.described(function))
	case c.is("run revisions list"):
		return o.revisions(c)
	case c.is("run services update-traffic"):
		o.active[function] = strings.TrimSuffix(c.flag("to-revisions", ""), "=100")
		return "", nil
	case c.is("run services update"):
		name, value, _ := strings.Cut(c.flag("update-env-vars", "NONE="), "=")
		o.settings[function][name] = value
		return "", nil
	case c.is("scheduler jobs"):
		return o.scheduled(c)
	case c.is("pubsub subscriptions"):
		return o.subscribed(c)
	case c.is("pubsub topics describe"):
		return c.printed(map[string]any{"name": "projects/" + shiftProject + "/topics/opledger-" + function})
	case c.is("secrets versions"):
		return o.versions(c)
	case c.is("firestore databases list"):
		return c.printed(map[string]any{"name": "opledger", "type": "FIRESTORE_NATIVE", "concurrencyMode": "OPTIMISTIC"})
	case strings.Contains(c.words[len(c.words)-2], "-iam-policy"):
		return o.policy(c)
	default:
		return "", fmt.Errorf("the simulated gcloud does not know %q", c.words)
	}
}

// described is a function as gcloud prints it.
func (o *oncall) described(function string) map[string]any {
	variables := map[string]any{}
	for name, value := range o.settings[function] {
		variables[name] = value
	}
	state := "ACTIVE"
	if o.broken[o.active[function]] {
		state = "FAILED"
	}
	return map[string]any{"state": state, "serviceConfig": map[string]any{
		"environmentVariables": variables, "uri": o.site.URL,
	}}
}

func (o *oncall) revisions(c called) (string, error) {
	var all []any
	service := strings.TrimPrefix(c.flag("service", ""), "opledger-")
	for _, name := range o.revision[service] {
		all = append(all, map[string]any{"name": name, "active": name == o.active[service]})
	}
	return c.printed(all...)
}

// scheduled answers calls about the scheduler's job.
func (o *oncall) scheduled(c called) (string, error) {
	switch c.words[2] {
	case "run":
		o.run()
	case "pause":
		o.paused = true
	case "resume":
		o.paused = false
	case "describe":
		job := map[string]any{"state": "ENABLED", "lastAttemptTime": "2026-11-21T12:00:00Z", "status": map[string]any{}}
		if o.paused {
			job["state"] = "PAUSED"
		}
		if o.code != 0 {
			job["status"] = map[string]any{"code": o.code}
		}
		return c.printed(job)
	default:
		return "", fmt.Errorf("the simulated gcloud does not know %q", c.words)
	}
	return "", nil
}

// subscribed answers calls about the subscriptions.
func (o *oncall) subscribed(c called) (string, error) {
	dead := c.last() == "effects-dead"
	switch {
	case c.words[2] == "describe":
		return c.printed(map[string]any{"state": "ACTIVE", "pushConfig": map[string]any{"pushEndpoint": "https://effects"}})
	case c.words[2] == "pull" && dead:
		var all []any
		for _, body := range o.dead {
			all = append(all, map[string]any{"message": map[string]any{"data": base64.StdEncoding.EncodeToString([]byte(body))}})
		}
		return c.printed(all...)
	case c.words[2] == "seek" && dead:
		o.dead = nil
	case c.words[2] == "seek":
		o.waiting = nil
	default:
		return "", fmt.Errorf("the simulated gcloud does not know %q", c.words)
	}
	return "", nil
}

// versions answers calls about the versions of a secret.
func (o *oncall) versions(c called) (string, error) {
	secret := "projects/" + shiftProject + "/secrets/"
	switch c.words[2] {
	case "list":
		var all []any
		for _, v := range o.secrets.Versions(secret + c.words[3]) {
			state := "DISABLED"
			if v.Enabled {
				state = "ENABLED"
			}
			all = append(all, map[string]any{"name": v.Name, "state": state, "createTime": "2026-11-21T12:00:00Z"})
		}
		return c.printed(all...)
	case "enable":
		o.secrets.SetEnabled(secret + c.flag("secret", "") + "/versions/" + c.words[3])
	case "add":
		o.secrets.Put(secret+c.words[3], c.stdin, o.clock.Now())
	default:
		return "", fmt.Errorf("the simulated gcloud does not know %q", c.words)
	}
	return "", nil
}

// policy answers calls about who may do what with a resource.
func (o *oncall) policy(c called) (string, error) {
	kind := map[string]string{"run": "run", "pubsub": "topic", "secrets": "secret"}[c.words[0]]
	resource := kind + " " + c.words[len(c.words)-1]
	if kind == "" || o.bindings[resource] == nil {
		return "", fmt.Errorf("there is no %s", resource)
	}
	if strings.HasPrefix(c.words[len(c.words)-2], "add-") {
		o.bindings[resource] = append(o.bindings[resource], c.flag("role", "")+" "+c.flag("member", ""))
	}
	return strings.Join(o.bindings[resource], "\n"), nil
}
