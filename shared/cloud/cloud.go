// Package cloud puts together from Google's parts what a deployed function works with: its ledger, with documents in Firestore
// and messages through Pub/Sub, and from Secret Manager what deliveries are verified with and the key that Gemini is asked with.
package cloud

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/topic"
)

// Ledger opens the ledger of a function that may plan effects. What it opens stays open as long as the process.
func Ledger(ctx context.Context, store config.Firestore, to config.Topic, settings config.Ledger) (*ledger.Ledger,
	error) {
	l, _, err := open(ctx, store, to, settings)
	return l, err
}

// open opens the ledger, and returns what closes it again.
func open(ctx context.Context, store config.Firestore, to config.Topic, settings config.Ledger) (
	*ledger.Ledger, func() error, error,
) {
	documents, err := firestore.Open(ctx, store.ProjectID, store.Database)
	if err != nil {
		return nil, nil, err
	}
	messages, err := topic.Open(ctx, store.ProjectID, to.Name)
	if err != nil {
		return nil, nil, errors.Join(err, documents.Close())
	}
	closeBoth := func() error { return errors.Join(messages.Close(), documents.Close()) }
	l, err := ledger.New(documents, settings.Settings(), ledger.Options{Publisher: messages})
	if err != nil {
		return nil, nil, errors.Join(err, closeBoth())
	}
	return l, closeBoth, nil
}
