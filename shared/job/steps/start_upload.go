package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
)

const (
	// leastFileLife is how long an uploaded file must still be there to be used.
	leastFileLife = time.Hour
	// fileLife is how long Gemini keeps a file, by its guide.
	fileLife = 48 * time.Hour
)

// upload makes sure that Gemini has a file with the part's requests. Where Gemini refuses it, or cannot be
// reached, that is put off; where the requests cannot be read the attempt has failed.
func (s *starting) upload(ctx context.Context) error {
	if err := s.asks(); err != nil {
		return err
	}
	if n := len(s.part.Files); n > 0 && s.part.Files[n-1].ExpiresAt.Sub(s.Now()) > leastFileLife {
		return nil
	}
	content := files.Open(ctx, s.Storage, s.part.Sources)
	defer content.Close() //nolint:errcheck // it was only read
	file, err := s.Batches.Upload(ctx, string(s.part.Key), s.part.Bytes, content)
	if err != nil {
		err = fmt.Errorf("uploading the requests of %s: %w", s.part.Key, err)
		if _, answered := errors.AsType[*api.Error](err); answered || errors.Is(err, api.ErrInterrupted) {
			return s.refused(ctx, fmt.Errorf("%w: %w", batches.ErrRefused, err))
		}
		return err
	}
	if file.ExpiresAt.IsZero() { // Gemini does not say
		file.ExpiresAt = s.Now().Add(fileLife)
	}
	s.uploaded = true
	s.part.Files = append(s.part.Files, job.File{Name: file.Name, ExpiresAt: file.ExpiresAt})
	s.part, err = s.Ledger.Jobs.Save(ctx, s.task.Lease, s.part)
	return err
}

// fileGone makes the next attempt upload the requests again. Where Gemini does not know what this attempt
// has uploaded, the key is suspected: it may be that of another project.
func (s *starting) fileGone(ctx context.Context, cause error) (err error) {
	s.part.Files[len(s.part.Files)-1].ExpiresAt = time.Time{}
	if s.uploaded {
		s.deleteInputs(ctx, s.part.Part)
		s.part.Files = s.part.Files[:len(s.part.Files)-1]
	}
	if s.part, err = s.Ledger.Jobs.Save(ctx, s.task.Lease, s.part); err != nil {
		return err
	}
	if s.uploaded {
		return s.denied(ctx, cause)
	}
	return s.wait(ctx, job.WaitsForGemini, cause, s.paced(whileFailing))
}
