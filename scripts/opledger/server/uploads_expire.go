package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// expire deletes what has waited for a day and no job has: bytes, and inputs in job storage.
func (s *uploads) expire(ctx context.Context) error {
	entries, err := os.ReadDir(s.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("reading the folder of uploads: %w", err)
	}
	for _, entry := range entries {
		info, failed := entry.Info()
		if failed == nil && s.now().Sub(info.ModTime()) < keepUpload {
			continue
		}
		err = errors.Join(err, failed, s.expireOne(ctx, entry.Name()))
	}
	return err
}

func (s *uploads) expireOne(ctx context.Context, file string) error {
	suffix := filepath.Ext(file)
	id, sum, _ := strings.Cut(strings.TrimSuffix(file, suffix), ".")
	key, err := operation.JobKey(id)
	if err != nil || suffix != partSuffix && suffix != storedSuffix {
		return nil // none of ours
	}
	sum, _, _ = strings.Cut(sum, "-") // of the upload: see storedPath
	u, path := upload{s, key, sum}, filepath.Join(s.folder, file)
	release, err := u.begin()
	if err != nil {
		return nil //nolint:nilerr // it is busy, so it has not expired
	}
	defer release()
	input, ok := readStored(path)
	if suffix == storedSuffix && ok {
		if err := u.unsubmitted(ctx, input); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// unsubmitted deletes an input that no job has.
func (u upload) unsubmitted(ctx context.Context, input job.Input) error {
	j, err := u.ledger.Jobs.Read(ctx, u.key)
	if err == nil && j.Input.Object == input.Object {
		return nil
	}
	if err != nil && !errors.Is(err, ledger.ErrNoJob) {
		return err //nolint:wrapcheck // it says what was read
	}
	return u.storage.Delete(ctx, input.Object) //nolint:wrapcheck // it says which
}

// tidyEvery is how often job storage is checked, which deletes what crashes left there.
const tidyEvery = 24 * time.Hour

// tidy checks job storage once a day. It does not make the folder beside a ledger, which has no jobs yet.
func (s *Server) tidy(ctx context.Context) error {
	now := s.options.Now()
	if s.jobs == nil || now.Sub(s.tidied) < tidyEvery {
		return nil
	}
	if s.settings.Jobs.Storage == "" {
		if _, err := os.Stat(s.settings.Jobs.In(s.options.Location)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	s.tidied = now
	return s.jobs.Check(ctx) //nolint:wrapcheck // it says what cannot be stored
}
