// Command revision makes one call to the ledger in a store, as the revision that it is built of. It
// exits with 3 where a newer revision wrote what the call is about.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

func main() {
	out, err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3:])
	_ = json.NewEncoder(os.Stdout).Encode(out)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	switch {
	case errors.Is(err, ledger.ErrNewer):
		os.Exit(3)
	case err != nil:
		os.Exit(1)
	}
}

func open(ctx context.Context, where string) (ledger.Store, error) {
	if project, ok := strings.CutPrefix(where, "firestore:"); ok {
		return firestore.Open(ctx, project, "")
	}
	return sqlite.Open(ctx, where, time.Now)
}

func run(ctx context.Context, where, call string, args []string) (out any, err error) {
	store, err := open(ctx, where)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		return nil, err
	}
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
		return l.Intend(ctx, ledger.Intention{CorrelationID: "of-" + string(key.ID()), JobKind: "test"})
	case "register":
		return l.Register(ctx, ledger.Registration{Name: name, CorrelationID: "of-" + string(key.ID())})
	case "event":
		return l.Ingest(ctx, operation.Event{
			Name: name, DeliveryID: args[1], Source: operation.Webhook, State: operation.State(args[1]),
			UpdateTime: time.Now(),
		})
	case "note":
		return l.NoteCondition(ctx, key, ledger.Condition(args[1]))
	case "claim":
		grant, err := l.Claim(ctx, key, "publish")
		return grant.Lease, err
	case "extend":
		return nil, l.Extend(ctx, lease)
	case "finish":
		return nil, l.Finish(ctx, lease)
	case "due":
		return l.DueEffects(ctx, time.Now().Add(time.Hour), ledger.Cursor{}, 100)
	case "show":
		return l.Show(ctx, key)
	case "intent":
		return l.Intent(ctx, "of-"+string(key.ID()))
	}
	return nil, fmt.Errorf("no call %q", call)
}
