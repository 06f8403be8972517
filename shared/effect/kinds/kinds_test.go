package kinds_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/custom"
	"github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/storage"
)

var errOwn = errors.New("the team's own handler failed")

// TestHandlers: each effect has the handler of its kind.
func TestHandlers(t *testing.T) {
	t.Parallel()
	specs := []spec.Spec{
		{Name: "a", Do: &log.Do{}}, {Name: "b", Do: &http.Do{URL: "http://127.0.0.1:1/"}},
		{Name: "c", Do: &pubsub.Do{Topic: "topic"}}, {Name: "d", Do: &custom.Do{}},
	}
	own := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, errOwn })
	options := kinds.Options{
		Log: logging.New(&bytes.Buffer{}, ""), Topics: pubsub.NewTopics("p"), Custom: map[string]effect.Handler{"d": own},
		Now: time.Now,
	}
	handlers, err := kinds.Handlers(specs, options)
	if err != nil || len(handlers) != 4 || handlers["a"] == nil || handlers["b"] == nil || handlers["c"] == nil {
		t.Fatalf("%v %v", handlers, err)
	}
	if _, err := handlers["b"].Perform(t.Context(), effect.Task{}); !effect.IsPermanent(err) {
		t.Errorf("%v, want private addresses refused unless they are allowed", err)
	}
	if _, err := handlers["d"].Perform(t.Context(), effect.Task{}); !errors.Is(err, errOwn) {
		t.Errorf("%v, want the team's own handler", err)
	}
	options.Custom, options.Topics = nil, pubsub.NewTopics("")
	_, err = kinds.Handlers(specs, options)
	for _, want := range []string{`effect "c": topic "topic" names no project`, "projects/PROJECT/topics/topic",
		`effect "d": do is custom`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %s", err, want)
		}
	}
}

// TestHandlersOfItems: an effect that runs once per item is never performed for the batch as a whole.
func TestHandlersOfItems(t *testing.T) {
	t.Parallel()
	specs := []spec.Spec{{Name: "publish", Each: "item", Do: &log.Do{}}, {Name: "log", Do: &log.Do{}}}
	handlers, err := kinds.Handlers(specs, kinds.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handlers["publish"].Perform(t.Context(), effect.Task{}); !errors.Is(err, items.ErrNoAPIKey) {
		t.Errorf("it was performed: %v", err)
	}
}

// TestUnperformable: a reason that can be known before any attempt is returned, without the rest of
// the URL, and none where an attempt may succeed. Not parallel, because it sets a variable.
func TestUnperformable(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/hunter2.json")
	missing := http.LateSigner(func(context.Context) (*http.Signer, error) {
		return nil,
			errors.New("the secret is not there")
	})
	there, err := http.NewSigner("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec spec.Spec
		o    kinds.Options
		says []string // of the error; none: nil
	}{
		{spec.Spec{Do: &log.Do{}}, kinds.Options{}, nil},
		{spec.Spec{Do: &custom.Do{}}, kinds.Options{}, nil},
		{spec.Spec{Do: &results.Do{Collection: "reviews"}}, kinds.Options{}, nil},
		{spec.Spec{Do: &http.Do{URL: "https://8.8.8.8/x"}}, kinds.Options{}, nil},
		{spec.Spec{Do: &http.Do{URL: "https://[2606:4700::1111]:8443/x"}}, kinds.Options{Signer: there}, nil},
		{spec.Spec{Do: &http.Do{URL: "http://me:hunter2@127.0.0.1:9/hunter2?t=hunter2"}}, kinds.Options{},
			[]string{"http://127.0.0.1:9 is at 127.0.0.1: ", http.ErrPrivateAddress.Error()}},
		{spec.Spec{Do: &http.Do{URL: "http://localhost/x"}}, kinds.Options{},
			[]string{"http://localhost is at ", "private"}},
		{spec.Spec{Do: &http.Do{URL: "http://[::ffff:10.0.0.1]/x"}}, kinds.Options{},
			[]string{"is at 10.0.0.1"}},
		{spec.Spec{Do: &http.Do{URL: "http://169.254.169.254/x"}}, kinds.Options{}, []string{"private"}},
		{spec.Spec{Do: &http.Do{URL: "http://localhost/x"}}, kinds.Options{AllowPrivate: true}, nil},
		{spec.Spec{Do: &http.Do{URL: "https://no..host/x"}}, kinds.Options{AllowPrivate: true},
			[]string{"no..host is not found"}},
		{spec.Spec{Do: &http.Do{URL: "https://8.8.8.8/x"}}, kinds.Options{Signer: missing},
			[]string{"the secret is not there"}},
		{spec.Spec{Do: &http.Do{URL: "https://10.0.0.1/x"}}, kinds.Options{Signer: missing},
			[]string{"the secret is not there", "private"}},
		{spec.Spec{Do: &pubsub.Do{Topic: "projects/p/topics/ends"}},
			kinds.Options{Topics: pubsub.NewTopics("p")}, []string{"making a Pub/Sub client: "}},
		{spec.Spec{Do: &results.Do{Bucket: "gs://results"}}, kinds.Options{Buckets: storage.NewBuckets("")},
			[]string{"making a Cloud Storage client: "}},
		{spec.Spec{Do: &results.Do{Bucket: "gs://results"}},
			kinds.Options{Buckets: storage.NewBuckets("127.0.0.1:1")},
			[]string{"asking Cloud Storage for the bucket gs://results: ", "refused"}},
	} {
		c.o.Now = time.Now
		err := kinds.Unperformable(t.Context(), c.spec, c.o)
		_, isHTTP := c.spec.Do.(*http.Do)
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
