// Package connect opens the ledger of a deployed function, over Firestore and Pub/Sub. It is apart
// from the rest of package cloud because Register needs nothing else: what the others link would
// start with it, too.
package connect

import (
	"context"
	"errors"
	"log/slog"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/topic"
)

// Ledger opens the ledger in Firestore, which publishes planned effects to the topic. The function
// that it returns closes it; a function that lives as long as its process does not need it. It
// sends no request. Missing credentials fail it: Firestore's client looks for those that the topic
// uses, too. That of the topic is made for the first message, because most starts publish none.
func Ledger(ctx context.Context, store config.Firestore, to config.Topic, settings config.Ledger, log *slog.Logger) (
	*ledger.Ledger, func() error, error,
) {
	documents, err := firestore.Open(ctx, store.ProjectID, store.Store.Database)
	if err != nil {
		return nil, nil, err
	}
	messages := topic.New(store.ProjectID, to.Name)
	closeBoth := func() error { return errors.Join(messages.Close(), documents.Close()) }
	l, err := ledger.New(documents, settings.Settings(), ledger.Options{Publisher: messages, Log: log})
	if err != nil {
		return nil, nil, errors.Join(err, closeBoth())
	}
	return l, closeBoth, nil
}
