package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/storage"
)

// Objects are a simulated job storage. It promises what a bucket promises and no more: an object is created
// whole and once, and after an error there may be one. A call whose answer is lost was made, was not made, or
// is made later, when another worker may have gone on. It can never be out of date, nor damage what it has.
type objects struct {
	held map[string]*object
	flaw Flaw
}

// An object is one of job storage, with the lines that it holds.
type object struct {
	storage.Object

	content []byte
	lines   []line // as linesOf reads them
}

// bucketName names the storage in records.
const bucketName = "gs://simulated/jobs"

var (
	castagnoli    = crc32.MakeTable(crc32.Castagnoli)
	errNoBucket   = errors.New("simulated: job storage is not available")
	storeFates    = []fate{late, late, late, refused, answerLost, slow, frozen, diesBefore, diesAfter}
	_             = storage.Storage(bucket{})
	errNoSuchName = fmt.Errorf("simulated: %w", storage.ErrNotExist)
)

// create makes an object.
func (o *objects) create(name string, content []byte) (storage.Object, error) {
	name = o.flaw.names(name)
	if o.held[name] != nil && !o.flaw.replaces(name) {
		return storage.Object{}, fmt.Errorf("simulated: %s: %w", name, storage.ErrExists)
	}
	made := &object{content: content, Object: storage.Object{
		Name: name, Size: int64(len(content)), CRC32C: crc32.Checksum(content, castagnoli),
	}}
	o.held[name] = made
	return made.Object, nil
}

// compose makes an object of others.
func (o *objects) compose(name string, sources []storage.Object) (storage.Object, error) {
	var content []byte
	for _, source := range sources {
		held := o.held[source.Name]
		if held == nil {
			return storage.Object{}, fmt.Errorf("%s: %w", source.Name, errNoSuchName)
		}
		if held.Size != source.Size {
			return storage.Object{}, fmt.Errorf("simulated: %s has %d bytes, not %d", source.Name, held.Size, source.Size)
		}
		content = append(content, held.content...)
	}
	return o.create(name, content)
}

// part returns bytes of an object.
func (o *objects) part(name string, offset, length int64) ([]byte, error) {
	held := o.held[name]
	switch {
	case held == nil:
		return nil, fmt.Errorf("%s: %w", name, errNoSuchName)
	case length < 0:
		length = max(held.Size-offset, 0)
	}
	if offset > held.Size || length > held.Size-offset {
		return nil, fmt.Errorf("simulated: reading %s: %w", name, io.ErrUnexpectedEOF)
	}
	return held.content[offset : offset+length], nil
}

// A bucket is a process's client of job storage.
type bucket struct{ *actor }

// String implements storage.Storage.
func (b bucket) String() string { return bucketName }

// call makes a call of the storage.
func (b bucket) call(ctx context.Context, doing, name string, fates []fate, do func() error) error {
	return b.send(ctx, &call{
		label: func() string { return b.name + ": " + doing + " " + name }, fates: fates, unavailable: errNoBucket, do: do,
		outside: true, provoked: b.w.store.flaw.provokes(doing + " " + name), lateBy: frozenFor,
	})
}

// Create reads the whole content before it calls: an object is visible only whole.
func (b bucket) Create(ctx context.Context, name string, content io.Reader) (storage.Object, error) {
	whole, err := io.ReadAll(content)
	if err != nil {
		return storage.Object{}, err
	}
	var made storage.Object
	err = b.call(ctx, "create", name, storeFates, func() (err error) {
		made, err = b.w.objects.create(name, whole)
		return err
	})
	return made, err
}

// Compose implements storage.Storage.
func (b bucket) Compose(ctx context.Context, name string, sources []storage.Object) (storage.Object, error) {
	var made storage.Object
	err := b.call(ctx, "compose", name, storeFates, func() (err error) {
		made, err = b.w.objects.compose(name, sources)
		return err
	})
	return made, err
}

// Read implements storage.Storage.
func (b bucket) Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	var content []byte
	err := b.call(ctx, "read", fmt.Sprintf("%s from %d", name, offset), readFates, func() (err error) {
		content, err = b.w.objects.part(name, offset, length)
		return err
	})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Stat implements storage.Storage.
func (b bucket) Stat(ctx context.Context, name string) (storage.Object, error) {
	var found storage.Object
	err := b.call(ctx, "stat", name, readFates, func() error {
		held := b.w.objects.held[name]
		if held == nil {
			return fmt.Errorf("%s: %w", name, errNoSuchName)
		}
		found = held.Object
		return nil
	})
	return found, err
}

// Delete implements storage.Storage.
func (b bucket) Delete(ctx context.Context, name string) error {
	return b.call(ctx, "delete", name, storeFates, func() error {
		delete(b.w.objects.held, name)
		return nil
	})
}

// Names implements storage.Storage.
func (b bucket) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var found []string
		if err := b.call(ctx, "list", prefix, readFates, func() error {
			found = b.w.objects.names(prefix)
			return nil
		}); err != nil {
			yield("", err)
			return
		}
		for _, name := range found {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// names returns the names that begin with a prefix, in their order.
func (o *objects) names(prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.held)), func(name string) bool {
		return !strings.HasPrefix(name, prefix)
	})
}

// Check implements storage.Storage.
func (b bucket) Check(context.Context) error { return nil }
