// Package cloud builds from settings what a deployed function works with: the ledger over Firestore
// and Pub/Sub, the gate and the confirmer of deliveries, the reconciler, and the effects' handlers.
// It is the only package that connects a deployed function to Google Cloud.
//
// An error begins with the variable that it is about. What a function of this package opens stays
// open for the life of the process, unless it says otherwise.
package cloud

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/topic"
)

// Ledger opens the ledger in Firestore, which publishes planned effects to the topic.
func Ledger(ctx context.Context, store config.Firestore, to config.Topic, settings config.Ledger) (*ledger.Ledger,
	error) {
	l, _, err := open(ctx, store, to, settings)
	return l, err
}

// open opens the ledger. The function that it returns closes it.
func open(ctx context.Context, store config.Firestore, to config.Topic, settings config.Ledger) (
	*ledger.Ledger, func() error, error,
) {
	documents, err := firestore.Open(ctx, store.ProjectID, store.Store.Database)
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
