package batches

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/googleapis/gax-go/v2"

	"github.com/opledger/opledger/shared/gemini/api"
)

// resumptions is how often one piece goes on after an answer was lost.
const resumptions = 5

// sendPiece sends a piece, which begins at offset, until all of it has arrived.
func sendPiece(
	ctx context.Context, session *api.Upload, offset int64, piece []byte, last bool, answer *uploaded,
) error {
	err := session.Send(ctx, offset, piece, last, answer)
	for attempt := 0; attempt < resumptions && unclear(err); attempt++ {
		if ended := gax.Sleep(ctx, time.Second<<attempt); ended != nil {
			return fmt.Errorf("waiting before going on: %w", ended)
		}
		received, final, lost := session.Query(ctx, answer)
		arrived := received - offset
		switch {
		case lost != nil:
			err = lost
			continue
		case final && last:
			return nil
		case final || arrived < 0 || arrived > int64(len(piece)):
			return fmt.Errorf("sending the bytes from %d on: Gemini says that it has %d, and that final is %v",
				offset, received, final)
		}
		offset, piece = received, piece[arrived:]
		if len(piece) == 0 && !last {
			return nil
		}
		err = session.Send(ctx, offset, piece, last, answer)
	}
	return err
}

// unclear reports whether an error leaves open how much of a piece has arrived.
func unclear(err error) bool {
	if answer, ok := errors.AsType[*api.Error](err); ok {
		return !answer.Refused()
	}
	return errors.Is(err, api.ErrInterrupted)
}
