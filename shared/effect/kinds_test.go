package effect_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
)

// TestHandlers: each effect has the handler of its kind.
func TestHandlers(t *testing.T) {
	t.Parallel()
	specs := []effect.Spec{
		{Name: "a", Do: &effect.DoLog{}}, {Name: "b", Do: &effect.DoHTTP{URL: "http://127.0.0.1:1/"}},
		{Name: "c", Do: &effect.DoPubSub{Topic: "topic"}}, {Name: "d", Do: &effect.DoCustom{}},
	}
	own := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, errTarget })
	options := effect.HandlerOptions{
		Log: logging.New(&bytes.Buffer{}, ""), Topics: effect.NewTopics("p"), Custom: map[string]effect.Handler{"d": own},
		Now: time.Now,
	}
	handlers, err := effect.Handlers(specs, options)
	if err != nil || len(handlers) != 4 || handlers["a"] == nil || handlers["b"] == nil || handlers["c"] == nil {
		t.Fatalf("%v %v", handlers, err)
	}
	if _, err := handlers["b"].Perform(t.Context(), effect.Task{}); !effect.IsPermanent(err) {
		t.Errorf("%v, want private addresses refused unless they are allowed", err)
	}
	if _, err := handlers["d"].Perform(t.Context(), effect.Task{}); !errors.Is(err, errTarget) {
		t.Errorf("%v, want the team's own handler", err)
	}
	options.Custom, options.Topics = nil, effect.NewTopics("")
	_, err = effect.Handlers(specs, options)
	for _, want := range []string{`effect "c": topic "topic" names no project`, "projects/PROJECT/topics/topic",
		`effect "d": do is custom`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %s", err, want)
		}
	}
}

// TestUnperformable: a reason that can be known before any attempt is returned, without the rest of
// the URL, and none where an attempt may succeed. Not parallel, because it sets a variable.
func TestUnperformable(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/hunter2.json")
	missing := effect.LateSigner(func(context.Context) (*effect.Signer, error) {
		return nil,
			errors.New("the secret is not there")
	})
	there, err := effect.NewSigner(signingSecret)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec effect.Spec
		o    effect.HandlerOptions
		says []string // of the error; none: nil
	}{
		{effect.Spec{Do: &effect.DoLog{}}, effect.HandlerOptions{}, nil},
		{effect.Spec{Do: &effect.DoCustom{}}, effect.HandlerOptions{}, nil},
		{effect.Spec{Do: &effect.DoResults{Collection: "reviews"}}, effect.HandlerOptions{}, nil},
		{effect.Spec{Do: &effect.DoHTTP{URL: "https://8.8.8.8/x"}}, effect.HandlerOptions{}, nil},
		{effect.Spec{Do: &effect.DoHTTP{URL: "https://[2606:4700::1111]:8443/x"}}, effect.HandlerOptions{Signer: there}, nil},
		{effect.Spec{Do: &effect.DoHTTP{URL: "http://me:hunter2@127.0.0.1:9/hunter2?t=hunter2"}}, effect.HandlerOptions{},
			[]string{"http://127.0.0.1:9 is at 127.0.0.1: ", effect.ErrPrivateAddress.Error()}},
		{effect.Spec{Do: &effect.DoHTTP{URL: "http://localhost/x"}}, effect.HandlerOptions{},
			[]string{"http://localhost is at ", "private"}},
		{effect.Spec{Do: &effect.DoHTTP{URL: "http://[::ffff:10.0.0.1]/x"}}, effect.HandlerOptions{},
			[]string{"is at 10.0.0.1"}},
		{effect.Spec{Do: &effect.DoHTTP{URL: "http://169.254.169.254/x"}}, effect.HandlerOptions{}, []string{"private"}},
		{effect.Spec{Do: &effect.DoHTTP{URL: "http://localhost/x"}}, effect.HandlerOptions{AllowPrivate: true}, nil},
		{effect.Spec{Do: &effect.DoHTTP{URL: "https://no..host/x"}}, effect.HandlerOptions{AllowPrivate: true},
			[]string{"no..host is not found"}},
		{effect.Spec{Do: &effect.DoHTTP{URL: "https://8.8.8.8/x"}}, effect.HandlerOptions{Signer: missing},
			[]string{"the secret is not there"}},
		{effect.Spec{Do: &effect.DoHTTP{URL: "https://10.0.0.1/x"}}, effect.HandlerOptions{Signer: missing},
			[]string{"the secret is not there", "private"}},
		{effect.Spec{Do: &effect.DoPubSub{Topic: "projects/p/topics/ends"}},
			effect.HandlerOptions{Topics: effect.NewTopics("p")}, []string{"making a Pub/Sub client: "}},
		{effect.Spec{Do: &effect.DoResults{Bucket: "gs://results"}}, effect.HandlerOptions{Buckets: effect.NewBuckets("")},
			[]string{"making a Cloud Storage client: "}},
		{effect.Spec{Do: &effect.DoResults{Bucket: "gs://results"}},
			effect.HandlerOptions{Buckets: effect.NewBuckets("127.0.0.1:1")},
			[]string{"asking Cloud Storage for the bucket gs://results: ", "refused"}},
	} {
		c.o.Now = time.Now
		err := c.spec.Unperformable(t.Context(), c.o)
		_, isHTTP := c.spec.Do.(*effect.DoHTTP)
		if (err == nil) != (c.says == nil) || err != nil && isHTTP && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v, want %q", c.spec.Do, err, c.says)
		}
		for _, words := range c.says {
			if err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("%+v: %v does not say %q", c.spec.Do, err, words)
			}
		}
	}
}
