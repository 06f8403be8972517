package results

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// A folder is where objects are written: a bucket, and the prefix of their names.
type folder struct {
	bucket string
	prefix string // empty, or ends in a slash
}

var (
	bucketName   = diag.Pattern(`^[a-z0-9][a-z0-9._-]+[a-z0-9]$`)
	objectPrefix = diag.Pattern(`^[A-Za-z0-9_=][A-Za-z0-9._=-]*(/[A-Za-z0-9_=][A-Za-z0-9._=-]*)*$`)
)

const (
	maxBucketBytes = 222
	// maxPrefixBytes keeps an object's name below the 1,024 bytes that Cloud Storage accepts.
	maxPrefixBytes = 400
	maxSegment     = 200 // bytes that stay as they are
)

// parseFolder reads gs://BUCKET or gs://BUCKET/PREFIX, with or without a slash at the end.
func parseFolder(text string) (folder, error) {
	rest, isURL := strings.CutPrefix(text, "gs://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	ok := prefix == "" || objectPrefix().MatchString(strings.TrimSuffix(prefix, "/")) && len(prefix) <= maxPrefixBytes
	switch {
	case !isURL || bucket == "":
		return folder{}, fmt.Errorf("bucket must be gs://BUCKET or gs://BUCKET/PREFIX, not %q", text)
	case !bucketName().MatchString(bucket) || len(bucket) > maxBucketBytes:
		return folder{}, fmt.Errorf("bucket %q: a bucket's name has 3 to 222 lower-case letters, digits and . _ -, "+
			"and begins and ends with a letter or digit; %q is none", text, bucket)
	case !ok:
		return folder{}, fmt.Errorf("bucket %q: a prefix has at most %d letters, digits and . _ - = /, "+
			"and none of its parts is empty or begins with . or -", text, maxPrefixBytes-len("/"))
	}
	return folder{bucket: bucket, prefix: prefix}, nil
}

// object returns the name of the object of an effect. It depends on the operation and the run of
// the effect alone: every attempt has the same, and a rerun has its own.
func (f folder) object(key operation.Key, effect string) string {
	return f.prefix + path.Join(string(key.Collection()), segment(key.ID()), segment(effect)+".jsonl")
}

// url returns the gs:// URL of an object.
func (f folder) url(object string) string { return "gs://" + f.bucket + "/" + object }

var safeSegment = diag.Pattern(`^[A-Za-z0-9_-][A-Za-z0-9._@-]*$`)

// segment turns any text into a part of an object's name, so that different texts have different
// parts. A text that is long, or holds what not every tool accepts in a name, ends in a hash of the
// whole.
func segment(text string) string {
	if safeSegment().MatchString(text) && len(text) <= maxSegment {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	const longest = 100
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && safeSegment().MatchString(string(r)) {
			return r
		}
		return '_'
	}, text[:min(len(text), longest)])
	return safe + "~" + hex.EncodeToString(sum[:]) // no text that stays as it is has a ~
}
