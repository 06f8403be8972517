package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path"
	"strings"
	"time"

	gcs "google.golang.org/api/storage/v1"
)

// A bucket is a Storage in Cloud Storage.
type bucket struct {
	buckets *Buckets
	at      Location
	now     func() time.Time
}

// nonceMetadata names the call that made an object.
const nonceMetadata = "opledger-nonce"

// String implements [Storage].
func (b *bucket) String() string { return strings.TrimSuffix(b.at.URL(b.at.Prefix), "/") }

func (b *bucket) url(name string) string { return b.at.URL(b.at.Prefix + name) }

// described returns the description of an object that a call makes.
func (b *bucket) described(name, nonce string) *gcs.Object {
	contentType := "application/octet-stream"
	switch path.Ext(name) {
	case ".jsonl":
		contentType = "application/x-ndjson"
	case ".json":
		contentType = "application/json"
	}
	return &gcs.Object{
		Name: b.at.Prefix + name, ContentType: contentType, Metadata: map[string]string{nonceMetadata: nonce},
	}
}

// Create implements [Storage].
func (b *bucket) Create(ctx context.Context, name string, content io.Reader) (Object, error) {
	if err := checkName(name); err != nil {
		return Object{}, err
	}
	nonce, from := rand.Text(), &measured{ctx: ctx, from: content}
	made, err := b.buckets.Insert(ctx, b.at.Bucket, b.described(name, nonce), from)
	if failure := from.failure(); failure != nil {
		return Object{}, failure
	}
	made, err = b.own(ctx, name, nonce, made, err)
	if err != nil {
		return Object{}, err
	}
	object, err := b.object(name, made)
	if err == nil && (object.Size != from.size || object.CRC32C != from.sum) {
		err = fmt.Errorf("%s has %d bytes with crc32c %08x, but %d with %08x were sent; use another name", b.url(name),
			object.Size, object.CRC32C, from.size, from.sum)
	}
	return object, err
}

// own returns the object that a call made, also where the answer to it was lost: then its nonce is on the
// object. ErrExists: another call made it.
func (b *bucket) own(ctx context.Context, name, nonce string, made *gcs.Object, err error) (*gcs.Object, error) {
	if err == nil {
		return made, nil
	}
	err = withRights(err)
	if ctx.Err() != nil {
		return nil, err
	}
	present, lookErr := b.buckets.Get(ctx, b.at.Bucket, b.at.Prefix+name)
	switch {
	case StatusOf(lookErr) == http.StatusNotFound:
		return nil, err
	case lookErr != nil:
		return nil, fmt.Errorf("%w; %w", err, lookErr)
	case present.Metadata[nonceMetadata] != nonce:
		return nil, fmt.Errorf("%w: %s", ErrExists, b.url(name))
	}
	return present, nil
}

// object returns an object as it is in the bucket.
func (b *bucket) object(name string, made *gcs.Object) (Object, error) {
	sum, err := crc32c(made.Crc32c)
	if err != nil {
		return Object{}, fmt.Errorf("reading %s: %w", b.url(name), err)
	}
	return Object{Name: name, Size: int64(made.Size), CRC32C: sum}, nil
}

// Stat implements [Storage].
func (b *bucket) Stat(ctx context.Context, name string) (Object, error) {
	if err := checkName(name); err != nil {
		return Object{}, err
	}
	present, err := b.buckets.Get(ctx, b.at.Bucket, b.at.Prefix+name)
	if err != nil {
		return Object{}, absent(err)
	}
	return b.object(name, present)
}

// Delete implements [Storage].
func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return b.remove(ctx, name, 0)
}

// remove deletes an object of a generation; 0 for any.
func (b *bucket) remove(ctx context.Context, name string, generation int64) error {
	_, err := ask(ctx, b.buckets, "deleting "+b.url(name),
		func(ctx context.Context, service *gcs.Service) (struct{}, error) {
			call := service.Objects.Delete(b.at.Bucket, b.at.Prefix+name).Context(ctx)
			if generation != 0 {
				call = call.IfGenerationMatch(generation)
			}
			return struct{}{}, call.Do()
		})
	if StatusOf(err) == http.StatusNotFound {
		return nil
	}
	return withRights(err)
}

// Names implements [Storage].
func (b *bucket) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := checkPrefix(prefix); err != nil {
			yield("", err)
			return
		}
		for object, err := range b.list(ctx, prefix) {
			if err != nil {
				yield("", err)
				return
			}
			// What no name can be is not an object of ours.
			if name := strings.TrimPrefix(object.Name, b.at.Prefix); isName(name) && !yield(name, nil) {
				return
			}
		}
	}
}

// list returns the objects whose names begin with a prefix, with name and time of creation.
func (b *bucket) list(ctx context.Context, prefix string) iter.Seq2[*gcs.Object, error] {
	return func(yield func(*gcs.Object, error) bool) {
		for token := ""; ; {
			page, err := ask(ctx, b.buckets, "listing "+b.url(prefix),
				func(ctx context.Context, service *gcs.Service) (*gcs.Objects, error) {
					return service.Objects.List(b.at.Bucket).Prefix(b.at.Prefix+prefix).PageToken(token).
						Fields("items(name,timeCreated)", "nextPageToken").Context(ctx).Do()
				})
			if err != nil {
				yield(nil, withRights(err))
				return
			}
			for _, object := range page.Items {
				if !yield(object, nil) {
					return
				}
			}
			if token = page.NextPageToken; token == "" {
				return
			}
		}
	}
}

// Check implements [Storage].
func (b *bucket) Check(ctx context.Context) error {
	if err := b.buckets.Check(ctx, b.at.Bucket); err != nil {
		return err
	}
	for object, err := range b.list(ctx, unfinished) {
		if err != nil {
			break // it may list nothing, and yet store
		}
		made, err := time.Parse(time.RFC3339, object.TimeCreated)
		if err == nil && b.now().Sub(made) > keepUnfinished {
			_ = b.remove(ctx, strings.TrimPrefix(object.Name, b.at.Prefix), 0) // the next Check finds it again
		}
	}
	return nil
}

// absent adds ErrNotExist to the answer that there is no object.
func absent(err error) error {
	if StatusOf(err) == http.StatusNotFound {
		return fmt.Errorf("%w: %w", ErrNotExist, err)
	}
	return withRights(err)
}

// withRights adds to an answer that forbids something which right is missing.
func withRights(err error) error {
	if answer, ok := errors.AsType[*AnswerError](err); ok &&
		(answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden) {
		return fmt.Errorf("%w; the account needs roles/storage.objectUser on the bucket", err)
	}
	return err
}
