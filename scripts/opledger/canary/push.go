package canary

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/ledger"
)

// push publishes a message about an effect of the operation that cannot exist, and waits until
// Effects has skipped it.
func (c *Canary) push(ctx context.Context, s *Step) error {
	target, err := c.subscription(ctx)
	if err != nil {
		return err
	}
	since, err := c.storeTime(ctx)
	if err != nil {
		return err
	}
	// An attempt makes it one of the ledger's own messages: nothing is replayed or planned.
	if err := c.Topic.Publish(ctx, ledger.Message{Operation: c.key, Effect: c.Effect, Attempt: 1}); err != nil {
		return cut("the topic in OPLEDGER_TOPIC; roles/pubsub.publisher on it", "the message was not published: %w", err)
	}
	s.did("a message about the effect %s was published", c.Effect)
	service := c.Place.name("effects")
	found, err := c.await(ctx, oneMinute, func() (bool, error) {
		lines, err := c.Google.lines(ctx, c.Place.Project, service, since, "canary", []string{"skipped"},
			equals("jsonPayload.operation", string(c.key)))
		if err != nil || len(lines) > 0 {
			return len(lines) > 0, err
		}
		return false, c.refusedAtDoor(ctx, service, since, target)
	})
	if err != nil {
		return err
	}
	if !found {
		return c.unseen(ctx, service, since, "the message was published, and %s has not logged within %s that it skipped it",
			service, oneMinute)
	}
	s.did("%s skipped it, since nothing is to be done", service)
	return nil
}

// A caller is what Google calls a function with.
type caller struct {
	account, audience string
	look              string // what shows its settings
}

// subscription checks the subscription as far as it can be read, and returns what it pushes with.
func (c *Canary) subscription(ctx context.Context) (caller, error) {
	id := c.Place.name("effects")
	look := fmt.Sprintf("gcloud pubsub subscriptions describe %s --project=%s", id, c.Place.Project)
	sub, err := c.Subscriptions.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{
		Subscription: "projects/" + c.Place.Project + "/subscriptions/" + id,
	})
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound:
		return caller{}, cut("scripts/doctor; --prefix must be that of the deployment", "there is no subscription %s", id)
	case codes.PermissionDenied:
		return caller{}, cut("roles/pubsub.viewer on the subscription "+id, "the subscription cannot be read: %w", err)
	default:
		return caller{}, cut(look, "the subscription cannot be read: %w", err)
	}
	config := sub.GetPushConfig()
	token := config.GetOidcToken()
	target := caller{account: token.GetServiceAccountEmail(), audience: token.GetAudience(), look: look}
	endpoint, err := url.Parse(config.GetPushEndpoint())
	switch {
	case sub.GetDetached():
		return target, cut(look, "the subscription %s is detached from its topic: messages are lost for it", id)
	case config.GetPushEndpoint() == "":
		return target, cut(look+"; deploy again, which sets its endpoint",
			"the subscription %s is paused: it has no push endpoint, so messages wait in it", id)
	case err != nil:
		return target, cut(look, "the subscription %s pushes to an address that is none: %w", id, err)
	case token == nil:
		return target, cut(look, "the subscription %s pushes without a token, which %s refuses", id, id)
	case target.audience != endpoint.Scheme+"://"+endpoint.Host:
		return target, cut(look+"; deploy again, which sets it", "the subscription %s has the wrong audience: its token is "+
			"for %q, and it pushes to %s://%s", id, target.audience, endpoint.Scheme, endpoint.Host)
	case sub.GetState() == pubsubpb.Subscription_RESOURCE_ERROR:
		return target, cut(look, "Pub/Sub cannot push to the endpoint of the subscription %s", id)
	}
	return target, nil
}

// refusedAtDoor returns an error where a request to the service was refused in front of it.
func (c *Canary) refusedAtDoor(ctx context.Context, service string, since time.Time, by caller) error {
	refused, err := c.Google.requests(ctx, c.Place.Project, service, since,
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound)
	if err != nil || len(refused) == 0 {
		return err
	}
	switch refused[0].HTTPRequest.Status {
	case http.StatusUnauthorized:
		return cut(by.look, "%s was called with a token that is not for it (401): the audience %q is not its address",
			service, by.audience)
	case http.StatusForbidden:
		return cut(fmt.Sprintf("gcloud run services add-iam-policy-binding %s --member=serviceAccount:%s "+
			"--role=roles/run.invoker", c.about(service), by.account),
			"%s may not invoke %s (403): it has no roles/run.invoker", by.account, service)
	default:
		return cut(by.look+"; gcloud run services describe "+c.about(service),
			"%s is not reached from there (404): its ingress or its address", service)
	}
}

// unseen says what is known about a service that did not log in time.
func (c *Canary) unseen(ctx context.Context, service string, since time.Time, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	look := c.logs(service)
	answered, err := c.Google.requests(ctx, c.Place.Project, service, since)
	switch {
	case err != nil:
		return cut(look, "%s; its requests cannot be read either: %w", what, err)
	case len(answered) == 0:
		return cut(look+"; scripts/doctor", "%s; no request reached it", what)
	}
	return cut(look, "%s; it answered the last request %d", what, answered[0].HTTPRequest.Status)
}

// storeTime is the time by the store's clock, which is Google's.
func (c *Canary) storeTime(ctx context.Context) (time.Time, error) {
	now, err := c.Ledger.Now(ctx)
	if err != nil {
		return now, cut("the database in OPLEDGER_STORE; roles/datastore.user", "the ledger cannot be read: %w", err)
	}
	return now, nil
}
