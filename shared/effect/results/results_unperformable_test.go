package results_test

import (
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/storage"
)

// TestBucketUnperformable: a bucket that does not exist is known without an object. What may be for
// want of a permission that writing does not need is no reason, and neither is a failure of Cloud
// Storage.
func TestBucketUnperformable(t *testing.T) {
	t.Parallel()
	sim := storagesim.Start(storagesim.Config{Buckets: []string{bucket}})
	defer sim.Close()
	why := func(url string) error {
		return (&results.Do{Bucket: url}).Unperformable(t.Context(), results.ObjectOptions{
			Buckets: storage.NewBuckets(sim.Addr()),
		})
	}
	if err := why("gs://" + bucket + "/nightly"); err != nil {
		t.Error(err)
	}
	if err := why("gs://another"); !errors.Is(err, storage.ErrNoBucket) ||
		err.Error() != "the bucket gs://another does not exist" {
		t.Error(err)
	}
	sim.Deny("storage.buckets.get")
	if err := why("gs://another"); err != nil {
		t.Error(err)
	}
}
