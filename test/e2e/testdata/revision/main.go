// Command revision makes calls to the ledger in a store, as the revision that it is built of: one for
// each line of its input, which is a call and its arguments. It answers each with a line.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

func main() {
	if err := serve(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// An answer says what came of a call. Newer is whether a newer revision wrote what it is about.
type answer struct {
	Out   any
	Newer bool
	Error string
}

func serve(ctx context.Context, where string) (err error) {
	store, err := open(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		return err
	}
	calls, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var call []string
		if err := calls.Decode(&call); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var a answer
		if a.Out, err = run(ctx, l, call[0], call[1:]); err != nil {
			a.Newer, a.Error = errors.Is(err, ledger.ErrNewer), err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func open(ctx context.Context, where string) (ledger.Store, error) {
	if project, ok := strings.CutPrefix(where, "firestore:"); ok {
		return firestore.Open(ctx, project, "")
	}
	return sqlite.Open(ctx, where, time.Now)
}

func run(ctx context.Context, l *ledger.Ledger, call string, args []string) (out any, err error) {
	key := operation.Key(args[0])
	name := operation.Name{Key: key, Resource: string(key)}
	var lease ledger.Lease
	if call == "extend" || call == "finish" {
		if err := json.Unmarshal([]byte(args[1]), &lease); err != nil {
			return nil, err
		}
	}
	switch call {
	case "intend":
		return l.Intents.Intend(ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "of-" + string(key.ID()), JobKind: "test"},
		})
	case "register":
		return l.Operations.Register(ctx, ledger.Registration{
			Name: name, Submission: operation.Submission{CorrelationID: "of-" + string(key.ID())},
		})
	case "event":
		return l.Operations.Ingest(ctx, operation.Event{
			Name: name, DeliveryID: args[1], Source: operation.Webhook, State: operation.State(args[1]),
			UpdateTime: time.Now(),
		})
	case "note":
		return l.Operations.RecordCondition(ctx, key, ledger.Condition(args[1]))
	case "claim":
		grant, err := l.Effects.Claim(ctx, key, "publish")
		return grant.Lease, err
	case "extend":
		return nil, l.Effects.Extend(ctx, lease)
	case "finish":
		return nil, l.Effects.Finish(ctx, lease)
	case "due":
		return l.Effects.Due(ctx, time.Now().Add(time.Hour), ledger.Cursor{}, 100)
	case "show":
		return l.Operations.Show(ctx, key)
	case "intent":
		return l.Intents.Read(ctx, "of-"+string(key.ID()))
	}
	return nil, fmt.Errorf("no call %q", call)
}
