package storage

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	gcs "google.golang.org/api/storage/v1"
)

const (
	// maxComposed is how many objects Cloud Storage composes at once.
	maxComposed = 32
	// composesAtOnce is how many requests of one Compose run at once.
	composesAtOnce = 8
	// tidyTimeout is for what Compose deletes, also after its context.
	tidyTimeout = 30 * time.Second
)

// Compose implements [Storage]. It composes in levels of 32, below [unfinished].
func (b *bucket) Compose(ctx context.Context, name string, sources []Object) (Object, error) {
	if err := checkName(name); err != nil {
		return Object{}, err
	}
	for _, source := range sources {
		if err := checkName(source.Name); err != nil {
			return Object{}, err
		}
	}
	if len(sources) == 0 { // which Cloud Storage refuses
		return b.Create(ctx, name, strings.NewReader(""))
	}
	nonce := rand.Text()
	var between []string
	defer func() { b.tidy(ctx, between) }()
	for level := 1; len(sources) > maxComposed; level++ {
		next := make([]Object, (len(sources)+maxComposed-1)/maxComposed)
		var group errgroup.Group // one that fails cancels no other, which might be made behind the tidying
		group.SetLimit(composesAtOnce)
		for i, some := range slices.Collect(slices.Chunk(sources, maxComposed)) {
			part := fmt.Sprintf("%s%s-%d-%d", unfinished, nonce, level, i)
			between = append(between, part)
			group.Go(func() (err error) {
				next[i], err = b.composeFew(ctx, part, nonce, some)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return Object{}, err
		}
		sources = next
	}
	return b.composeFew(ctx, name, nonce, sources)
}

// composeFew composes up to 32 objects. An object of another size than theirs is deleted.
func (b *bucket) composeFew(ctx context.Context, name, nonce string, sources []Object) (Object, error) {
	request := &gcs.ComposeRequest{Destination: b.described(name, nonce)}
	size := int64(0)
	for _, source := range sources {
		size += source.Size
		request.SourceObjects = append(request.SourceObjects,
			&gcs.ComposeRequestSourceObjects{Name: b.at.Prefix + source.Name})
	}
	made, err := ask(ctx, b.buckets, "composing "+b.url(name),
		func(ctx context.Context, service *gcs.Service) (*gcs.Object, error) {
			return service.Objects.Compose(b.at.Bucket, b.at.Prefix+name, request).IfGenerationMatch(0).
				Fields("generation", "size", "crc32c").Context(ctx).Do()
		})
	if StatusOf(err) == http.StatusNotFound {
		return Object{}, absent(err)
	}
	if made, err = b.own(ctx, name, nonce, made, err); err != nil {
		return Object{}, err
	}
	object, err := b.object(name, made)
	if err == nil && object.Size != size {
		err = fmt.Errorf("composing %s: its %d sources have %d bytes, not %d as they had when they were made", b.url(name),
			len(sources), object.Size, size)
		_ = b.remove(ctx, name, made.Generation) // if it stays, no caller knows of it
	}
	if err != nil {
		return Object{}, err
	}
	return object, nil
}

// tidy deletes objects, also where the context is over. What it leaves below [unfinished] Check deletes.
func (b *bucket) tidy(ctx context.Context, names []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(composesAtOnce)
	for _, name := range names {
		group.Go(func() error { return b.remove(ctx, name, 0) })
	}
	_ = group.Wait() // as above
}
