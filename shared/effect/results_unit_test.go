package effect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// fetches returns a client whose results have one line.
func fetches(t *testing.T) *results.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"key":"a","response":1}`)
	}))
	t.Cleanup(server.Close)
	client, err := results.New(results.Options{APIKey: "key", BaseURL: server.URL, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestUnreadablePayload: an effect whose frozen payload cannot be read is DEAD at its first attempt,
// as is one that has no item. Without an API key it is retried.
func TestUnreadablePayload(t *testing.T) {
	t.Parallel()
	object := func(client *results.Client) Handler {
		handler, err := ResultsObject(ResultsObjectOptions{Bucket: "gs://results", Buckets: NewBuckets("x"), Results: client})
		if err != nil {
			t.Fatal(err)
		}
		return handler
	}
	damaged := Task{Lease: ledger.Lease{Payload: []byte("{")}, Item: &results.Item{}}
	for name, c := range map[string]struct {
		handler   Handler
		task      Task
		says      string
		permanent bool
	}{
		"a document":        {Results("reviews"), damaged, "reading the payload", true},
		"no item":           {Results("reviews"), Task{}, "item by item", true},
		"an object":         {object(fetches(t)), damaged, "reading the payload", true},
		"an object, no key": {object(nil), damaged, ErrNoAPIKey.Error(), false},
		"each item":         {Each(nil, EachOptions{Results: fetches(t)}), damaged, "reading the payload", true},
	} {
		_, err := c.handler.Perform(t.Context(), c.task)
		if err == nil || !strings.Contains(err.Error(), c.says) || IsPermanent(err) != c.permanent {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	if _, err := ResultsObject(ResultsObjectOptions{Bucket: "results"}); err == nil {
		t.Error("an object is written to what is no bucket")
	}
}

// TestHandlersOfItems: an effect that runs once per item is never performed for the batch as a whole.
func TestHandlersOfItems(t *testing.T) {
	t.Parallel()
	specs := []Spec{{Name: "publish", Each: "item", Do: &DoLog{}}, {Name: "log", Do: &DoLog{}}}
	handlers, err := Handlers(specs, HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handlers["publish"].Perform(t.Context(), Task{}); !errors.Is(err, ErrNoAPIKey) {
		t.Errorf("it was performed: %v", err)
	}
}

// TestBucketsConnectOnce: one client is made, and a check that runs out of time says nothing.
func TestBucketsConnectOnce(t *testing.T) {
	t.Parallel()
	b := NewBuckets("127.0.0.1:1")
	first, err := b.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := b.connect(t.Context()); err != nil || second != first {
		t.Errorf("another client was made (%v)", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.check(over, "results"); err != nil {
		t.Error(err)
	}
	if err := (&DoResults{Collection: "reviews"}).unperformable(over, HandlerOptions{}); err != nil {
		t.Error(err)
	}
}

// TestLinesAreClosed: the download ends with the attempt.
func TestLinesAreClosed(t *testing.T) {
	t.Parallel()
	l := &resultLines{client: fetches(t)}
	l.completion.Operation, l.completion.Result.OutputFile = "batches/a", "files/a"
	if err := l.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := l.reader
	l.close()
	if _, err := open.Next(); err == nil || errors.Is(err, io.EOF) || l.reader != nil {
		t.Errorf("the download goes on: %v", err)
	}
}

// TestSegmentKeepsLetters: what an operator can read of a name stays in the object's name.
func TestSegmentKeepsLetters(t *testing.T) {
	t.Parallel()
	if got := segment("a b/cé"); !strings.HasPrefix(got, "a_b_c_~") {
		t.Errorf("%q", got)
	}
}

// TestNextLimit: pages grow while items are small, and shrink where they are large.
func TestNextLimit(t *testing.T) {
	t.Parallel()
	large := []ledger.Item{{Response: strings.Repeat("x", maxChunkBytes/2+1)}}
	for _, c := range []struct {
		limit int
		page  []ledger.Item
		want  int
	}{{16, nil, 32}, {maxKeptPage, nil, maxKeptPage}, {32, large, 16}, {minItemPage, large, minItemPage}} {
		if got := nextLimit(c.limit, maxKeptPage, c.page); got != c.want {
			t.Errorf("%d after %d, want %d", got, c.limit, c.want)
		}
	}
}

// TestTopicsClose: a topic without a project is an error before there is a connection, and a connection
// that cannot be closed is one.
func TestTopicsClose(t *testing.T) {
	t.Parallel()
	if err := NewTopics("").Check(t.Context(), "ends"); !errors.Is(err, ErrNoProject) {
		t.Error(err)
	}
	connection, err := grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	topics := NewTopics("p", option.WithGRPCConn(connection))
	if _, err := topics.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	if err := topics.Close(); err == nil {
		t.Error("the connection was closed twice without an error")
	}
}

// TestInsistSaysWhy: where the time for a record runs out in a call of the store, the error includes
// what the store said before.
func TestInsistSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := insist(t.Context(), func(ctx context.Context) error {
			if calls++; calls == 1 {
				return ledger.ErrUnavailable
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestObjectWithoutCredentials: where no client can be made the attempt fails, and says what to do. Not
// parallel, because it sets a variable.
func TestObjectWithoutCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/credentials.json")
	handler, err := ResultsObject(ResultsObjectOptions{
		Bucket: "gs://results", Buckets: NewBuckets(""), Results: fetches(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = handler.Perform(t.Context(), Task{Lease: ledger.Lease{
		Payload: []byte(`{"operation":"batches/a","result":{"outputFile":"files/a"}}`),
	}})
	if err == nil || !strings.Contains(err.Error(), "making a Cloud Storage client") || IsPermanent(err) {
		t.Error(err)
	}
}

// TestRefusedInWords: an answer of Cloud Storage that is no JSON is quoted as it is.
func TestRefusedInWords(t *testing.T) {
	t.Parallel()
	w := &objectWriter{ResultsObjectOptions: ResultsObjectOptions{Now: time.Now}, to: folder{bucket: "results"}, name: "a"}
	_, w.sent = watchSent(t.Context())
	err := w.refused("writing", &googleapi.Error{Code: http.StatusBadGateway, Body: "an upstream is away"})
	if !strings.Contains(err.Error(), "an upstream is away") {
		t.Error(err)
	}
}
