package storagesim

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/storage/v1"
)

// maxComposed is how many objects Cloud Storage composes at once.
const maxComposed = 32

// find returns an object that the caller may read.
func (s *Sim) find(bucket, name string) (*Object, error) {
	object := s.objects[bucket+"/"+name]
	switch {
	case s.denied["storage.objects.get"] || object == nil && s.denied["storage.objects.list"]:
		return nil, lacks("storage.objects.get")
	case object == nil:
		return nil, refusal(http.StatusNotFound, "No such object: %s/%s", bucket, name)
	}
	return object, nil
}

func lacks(permission string) error {
	return refusal(http.StatusForbidden, "Caller does not have %s access to the Google Cloud Storage object.", permission)
}

// get answers with an object's metadata, or with its content.
func (s *Sim) get(w http.ResponseWriter, r *http.Request) (any, error) {
	s.mu.Lock()
	object, err := s.find(r.PathValue("bucket"), r.PathValue("name"))
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if r.URL.Query().Get("alt") != "media" {
		return &object.Object, nil
	}
	from, err := object.content.open()
	if err != nil {
		return nil, err
	}
	defer from.Close() //nolint:errcheck // it was only read
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, from)
	return nil, nil //nolint:nilnil // it has answered
}

// delete removes an object.
func (s *Sim) delete(w http.ResponseWriter, r *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := r.PathValue("bucket") + "/" + r.PathValue("name")
	generation := r.URL.Query().Get("ifGenerationMatch")
	switch {
	case s.denied["storage.objects.delete"]:
		return nil, lacks("storage.objects.delete")
	case s.objects[at] == nil:
		return nil, refusal(http.StatusNotFound, "No such object: %s", at)
	case generation != "" && generation != strconv.FormatInt(s.generationOf(at), 10):
		return nil, refusal(http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
	}
	s.remove(at)
	w.WriteHeader(http.StatusNoContent)
	return nil, nil //nolint:nilnil // it has answered
}

// list answers with a page of the objects whose names have a prefix, by name. A page's token is the
// name of the last object before it.
func (s *Sim) list(_ http.ResponseWriter, r *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket, query := r.PathValue("bucket"), r.URL.Query()
	switch {
	case !slices.Contains(s.config.Buckets, bucket):
		return nil, refusal(http.StatusNotFound, "The specified bucket does not exist.")
	case s.denied["storage.objects.list"]:
		return nil, lacks("storage.objects.list")
	}
	page := &storage.Objects{}
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		name, of := strings.CutPrefix(at, bucket+"/")
		if !of || !strings.HasPrefix(name, query.Get("prefix")) || name <= query.Get("pageToken") {
			continue
		}
		if len(page.Items) == s.config.PageNames {
			page.NextPageToken = page.Items[len(page.Items)-1].Name
			break
		}
		page.Items = append(page.Items, &s.objects[at].Object)
	}
	return page, nil
}

// compose makes an object of others, one behind the other.
func (s *Sim) compose(_ http.ResponseWriter, r *http.Request) (any, error) {
	var request storage.ComposeRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, refusal(http.StatusBadRequest, "The request cannot be read: %v", err)
	}
	bucket, name := r.PathValue("bucket"), r.PathValue("name")
	into := s.newContent()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(request.SourceObjects); n < 1 || n > maxComposed {
		return nil, refusal(http.StatusBadRequest, "The number of source components provided (%d) is not 1 to %d.", n,
			maxComposed)
	}
	if err := s.mayCreate(bucket, name, r.URL.Query().Get("ifGenerationMatch")); err != nil {
		return nil, err
	}
	for _, source := range request.SourceObjects {
		from, err := s.find(bucket, source.Name)
		if err != nil {
			return nil, err
		}
		if err := from.content.copyTo(into); err != nil {
			return nil, err
		}
	}
	object := &Object{}
	if request.Destination != nil {
		object.Object = *request.Destination
	}
	object.Bucket, object.Name = bucket, name
	s.keep(object, into)
	return &object.Object, nil
}

func (c *content) copyTo(into io.Writer) error {
	from, err := c.open()
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(into, from)
	return err
}
