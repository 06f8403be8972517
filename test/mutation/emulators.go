package main

import (
	"context"
	"errors"
	"os"

	"github.com/opledger/opledger/shared/ledger/emulator"
)

// emulators are Google's, which serve all test binaries: one that started its own for each mutant
// would take seconds each.
type emulators struct{ running []*emulator.Process }

// start starts them unless they run, and names them in the environment.
func (e *emulators) start(ctx context.Context) error {
	if len(e.running) > 0 {
		return nil
	}
	firestore, err := emulator.StartFirestore(ctx)
	if err != nil {
		return err
	}
	e.running = append(e.running, firestore)
	pubsub, err := emulator.StartPubSub(ctx)
	if err != nil {
		return err
	}
	e.running = append(e.running, pubsub)
	return errors.Join(
		os.Setenv("FIRESTORE_EMULATOR_HOST", firestore.Addr()), os.Setenv("PUBSUB_EMULATOR_HOST", pubsub.Addr()))
}

func (e *emulators) stop() {
	for _, process := range e.running {
		process.Stop()
	}
}
