package canary

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Options are the parts of a deployment, as the canary reaches them. All are required but those
// that say otherwise.
type Options struct {
	Place  Place
	Ledger *ledger.Ledger
	// Topic is where the ledger publishes effects.
	Topic ledger.Publisher
	// Subscriptions are those of Pub/Sub.
	Subscriptions Subscriptions
	// Google is Cloud Logging and Cloud Scheduler.
	Google *Google

	// URL is the public address of Webhook. Empty: the deployment has no static webhook, and the
	// delivery is left out.
	URL string
	// SigningSecret returns the newest secret that Gemini signs with.
	SigningSecret func(context.Context) (string, error)
	// Registrar is how Register is reached. Where a part of it is empty, the intent is left out.
	Registrar Registrar
	// HTTP sends the delivery and the intent. Nil: http.DefaultClient.
	HTTP *http.Client

	// Effect is the name of an effect that Effects has.
	Effect string

	// Spend, if not nil, adds the step that costs money.
	Spend *Spend

	// Now is the clock of durations and of the delivery's time. Wait waits between two looks.
	Now  func() time.Time
	Wait func(context.Context, time.Duration) error
}

// A Place says where a deployment is, and how its parts are named.
type Place struct {
	Project, Region string
	// Prefix begins the names of its parts: the topic, its subscription and Effects are
	// PREFIX-effects; the job and Reconcile are PREFIX-reconcile.
	Prefix string
}

func (p Place) name(part string) string { return p.Prefix + "-" + part }

// Subscriptions reads subscriptions of Pub/Sub.
type Subscriptions interface {
	GetSubscription(context.Context, *pubsubpb.GetSubscriptionRequest, ...gax.CallOption) (*pubsubpb.Subscription, error)
}

// A Canary makes the steps. It is used for one run.
type Canary struct {
	Options
	// key is the operation that cannot exist.
	key operation.Key
}

// New returns a canary.
func New(o Options) *Canary {
	if o.HTTP == nil {
		o.HTTP = http.DefaultClient
	}
	id := operation.CanaryPrefix + strings.ToLower(rand.Text()[:20])
	return &Canary{Options: o, key: operation.Key(string(operation.Batches) + "/" + id)}
}

// A step is one link of the chain, or several. do adds to the step what it did.
type step struct {
	name string
	do   func(context.Context, *Step) error
}

// Run makes the steps in their order, also behind one that failed: each is about other links. It
// calls done after each step. When ctx ends, the steps that are left are not made.
func (c *Canary) Run(ctx context.Context, done func(Step)) Report {
	report := Report{OK: true}
	began := c.Now()
	for _, s := range c.steps() {
		if ctx.Err() != nil {
			break
		}
		made := c.make(ctx, s)
		report.OK = report.OK && made.Error == ""
		report.Steps = append(report.Steps, made)
		done(made)
	}
	report.OK = report.OK && ctx.Err() == nil
	report.DurationMS = c.Now().Sub(began).Milliseconds()
	return report
}

func (c *Canary) steps() []step {
	steps := []step{{"register", c.register}, {"delivery", c.deliver}, {"push", c.push}, {"schedule", c.schedule}}
	if c.Spend != nil {
		steps = append(steps, step{"batch", c.batch})
	}
	return steps
}

func (c *Canary) make(ctx context.Context, s step) Step {
	made, began := Step{Name: s.name}, c.Now()
	err := s.do(ctx, &made)
	made.DurationMS = c.Now().Sub(began).Milliseconds()
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	var words []string
	for _, problem := range append([]error{err}, made.left...) {
		if problem == nil {
			continue
		}
		words = append(words, problem.Error())
		if cut := new(cutError); made.LookAt == "" && errors.As(problem, &cut) {
			made.LookAt = cut.look
		}
	}
	made.Error = strings.Join(words, "; ")
	return made
}

// A cutError is a link that is cut.
type cutError struct {
	what error
	look string // what to look at, or to do
}

func (e *cutError) Error() string { return e.what.Error() }
func (e *cutError) Unwrap() error { return e.what }

// cut returns an error about a link, with what to look at.
func cut(look, format string, args ...any) error {
	return &cutError{what: fmt.Errorf(format, args...), look: look}
}

// The pauses between two looks, and how long a step looks.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second // Cloud Logging answers 60 queries a minute in a project
	oneMinute  = time.Minute
)

// await calls look until it is done or fails, for a limit. It reports false at the limit.
func (c *Canary) await(ctx context.Context, limit time.Duration, look func() (bool, error)) (bool, error) {
	until := c.Now().Add(limit)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if found, err := look(); found || err != nil {
			return found, err
		}
		if !c.Now().Add(pause).Before(until) {
			return false, nil
		}
		if err := c.Wait(ctx, pause); err != nil {
			return false, err
		}
	}
}

// cleanUp returns a context for removing what a step made, whatever became of the step's own.
func cleanUp(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
}

const cleanUpTime = 30 * time.Second
