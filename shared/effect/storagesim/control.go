package storagesim

import (
	"hash/crc32"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A Point is a kind of request.
type Point string

// The points.
const (
	Begin    Point = "begin"    // of an upload; a small one is this request alone
	Chunk    Point = "chunk"    // of an upload, except the last
	Last     Point = "last"     // chunk of an upload
	Get      Point = "get"      // an object's metadata
	Download Point = "download" // an object's content
	Compose  Point = "compose"
	Delete   Point = "delete"
	List     Point = "list" // a page of names
)

func pointOf(r *http.Request) Point {
	switch {
	case r.Method == http.MethodDelete:
		return Delete
	case r.URL.Query().Get("alt") == "media":
		return Download
	case r.Method == http.MethodGet && strings.HasSuffix(r.Pattern, "/o"):
		return List
	case r.Method == http.MethodGet:
		return Get
	case strings.HasSuffix(r.Pattern, "/compose"):
		return Compose
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		return Begin
	case strings.HasSuffix(r.Header.Get("Content-Range"), "/*"):
		return Chunk
	default:
		return Last
	}
}

// A fault replaces or accompanies the serving of a request.
type fault struct {
	point      Point
	status     int // of the answer; 0 ends the connection without one
	retryAfter string
	after      bool // the request was served
	cut        bool // the connection ends after so many bytes of the answer
	bytes      int
	before     func() // called first
}

// Fail makes the next request at a point fail without being served. retryAfter is the header of
// that name; empty for none.
func (s *Sim) Fail(point Point, status int, retryAfter string) {
	s.add(&fault{point: point, status: status, retryAfter: retryAfter})
}

// Lose makes the next request at a point be served and then answered with a status. 0 ends the
// connection without an answer.
func (s *Sim) Lose(point Point, status int) { s.add(&fault{point: point, status: status, after: true}) }

// Cut ends the connection after so many bytes of the content that the next request at a point is
// answered with.
func (s *Sim) Cut(point Point, bytes int) { s.add(&fault{point: point, cut: true, bytes: bytes}) }

// Before calls do before the next request at a point is served. The request waits for do.
func (s *Sim) Before(point Point, do func()) { s.add(&fault{point: point, before: do}) }

// Damage flips a bit in the content of the next request that has some.
func (s *Sim) Damage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged++
}

// Deny takes a permission, such as storage.objects.delete, from the caller.
func (s *Sim) Deny(permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[permission] = true
}

// Put makes an object, in place of an existing one.
func (s *Sim) Put(bucket, name, text string, metadata map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := &Object{}
	object.Bucket, object.Name, object.Metadata = bucket, name, metadata
	s.keep(object, &content{memory: []byte(text), size: int64(len(text)), sum: crc32.Checksum([]byte(text), castagnoli)})
}

// Delete deletes an object, if it exists.
func (s *Sim) Delete(bucket, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(bucket + "/" + name)
}

// Names returns the names of all objects, each after its bucket, sorted.
func (s *Sim) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Object returns an object by its bucket and name; the zero Object if there is none.
func (s *Sim) Object(bucket, name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object := s.objects[bucket+"/"+name]; object != nil {
		found := *object
		found.Content = object.content.memory
		return found
	}
	return Object{}
}

func (s *Sim) add(f *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// next removes and returns the next fault at a point; nil if there is none.
func (s *Sim) next(point Point) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.faults, func(f *fault) bool { return f.point == point })
	if i < 0 {
		return nil
	}
	f := s.faults[i]
	s.faults = slices.Delete(s.faults, i, i+1)
	return f
}
