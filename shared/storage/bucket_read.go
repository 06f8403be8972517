package storage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	gcs "google.golang.org/api/storage/v1"
)

// Read implements [Storage].
func (b *bucket) Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if length == 0 || offset < 0 { // no header can ask for that
		return b.readNothing(ctx, name, offset, length)
	}
	download, err := b.download(ctx, name, offset, length)
	if StatusOf(err) == http.StatusRequestedRangeNotSatisfiable {
		return b.readNothing(ctx, name, offset, length)
	}
	if err != nil {
		return nil, absent(err)
	}
	has := download.ContentLength
	switch {
	case has < 0:
		err = fmt.Errorf("reading %s: Cloud Storage does not say how long it is; is it stored with a Content-Encoding?",
			b.url(name))
	case download.Header.Get("Content-Range") == "" && (offset > 0 || length >= 0 && has > length):
		err = fmt.Errorf("reading %s: Cloud Storage answered with all of it, not with bytes from %d on", b.url(name), offset)
	case length >= 0 && has < length:
		err = fmt.Errorf("reading %s: it has %d of the %d bytes from %d on: %w", b.url(name), has, length, offset,
			io.ErrUnexpectedEOF)
	}
	if err != nil {
		_ = download.Body.Close() // nothing of it is read
		return nil, err
	}
	return &ranged{ctx: ctx, from: download.Body, left: has, of: b.url(name)}, nil
}

func (b *bucket) download(ctx context.Context, name string, offset, length int64) (*http.Response, error) {
	return ask(ctx, b.buckets, "reading "+b.url(name),
		func(ctx context.Context, service *gcs.Service) (*http.Response, error) {
			call := service.Objects.Get(b.at.Bucket, b.at.Prefix+name).Context(ctx)
			switch {
			case length > 0:
				call.Header().Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
			case offset > 0:
				call.Header().Set("Range", fmt.Sprintf("bytes=%d-", offset))
			}
			return call.Download()
		})
}

// readNothing returns no bytes of an object, if that is what the range has.
func (b *bucket) readNothing(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	object, err := b.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, err := lengthOf(object.Size, offset, length); err != nil {
		return nil, fmt.Errorf("reading %s: %w", b.url(name), err)
	}
	return io.NopCloser(strings.NewReader("")), nil
}
