package storage

import (
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// maxNameBytes keeps a name, behind the longest prefix, below the 1,024 bytes that Cloud Storage accepts.
const maxNameBytes = 600

var (
	objectName   = diag.Pattern(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
	namesPrefix  = diag.Pattern(`^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*([A-Za-z0-9_-][A-Za-z0-9._-]*)?$`)
	bucketName   = diag.Pattern(`^[a-z0-9][a-z0-9._-]+[a-z0-9]$`)
	objectPrefix = diag.Pattern(`^[A-Za-z0-9_=][A-Za-z0-9._=-]*(/[A-Za-z0-9_=][A-Za-z0-9._=-]*)*$`)
)

func isName(name string) bool { return len(name) <= maxNameBytes && objectName().MatchString(name) }

// checkName returns what is wrong with an object's name.
func checkName(name string) error {
	if !isName(name) {
		return fmt.Errorf("the object's name %.700q is not segments of letters, digits and . _ -, joined by slashes, "+
			"with at most %d bytes, none beginning with a dot", name, maxNameBytes)
	}
	return nil
}

// checkPrefix returns what is wrong with the beginning of names.
func checkPrefix(prefix string) error {
	if len(prefix) > maxNameBytes || !namesPrefix().MatchString(prefix) {
		return fmt.Errorf("no object's name begins with %.700q", prefix)
	}
	return nil
}

// A Location is where objects of a bucket are: the bucket, and the prefix of their names.
type Location struct {
	Bucket string
	Prefix string // empty, or ends in a slash
}

const (
	maxBucketBytes = 222
	// maxPrefixBytes keeps an object's name below the 1,024 bytes that Cloud Storage accepts.
	maxPrefixBytes = 400
)

// ParseLocation reads gs://BUCKET or gs://BUCKET/PREFIX, with or without a slash at its right. The error
// says what is wrong with it.
func ParseLocation(text string) (Location, error) {
	rest, isURL := strings.CutPrefix(text, "gs://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	ok := prefix == "" || objectPrefix().MatchString(strings.TrimSuffix(prefix, "/")) && len(prefix) <= maxPrefixBytes
	switch {
	case !isURL || bucket == "":
		return Location{}, fmt.Errorf("bucket must be gs://BUCKET or gs://BUCKET/PREFIX, not %q", text)
	case !bucketName().MatchString(bucket) || len(bucket) > maxBucketBytes:
		return Location{}, fmt.Errorf("bucket %q: a bucket's name has 3 to 222 lower-case letters, digits and . _ -, "+
			"and begins and ends with a letter or digit; %q is none", text, bucket)
	case !ok:
		return Location{}, fmt.Errorf("bucket %q: a prefix has at most %d letters, digits and . _ - = /, "+
			"and none of its parts is empty or begins with . or -", text, maxPrefixBytes-len("/"))
	}
	return Location{Bucket: bucket, Prefix: prefix}, nil
}

// URL returns the gs:// URL of an object by its whole name, prefix and all.
func (l Location) URL(object string) string { return "gs://" + l.Bucket + "/" + object }
