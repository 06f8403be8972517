package infra_test

import (
	"encoding/base64"
	"fmt"
	"strings"
)

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
