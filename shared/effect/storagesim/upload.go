package storagesim

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/api/storage/v1"
)

// A session is an upload in progress.
type session struct {
	bucket       string
	object       storage.Object // as requested
	precondition string         // ifGenerationMatch, empty for none
	content      *content
	done         *Object
}

// upload starts an upload. A multipart one also ends with this request.
func (s *Sim) upload(w http.ResponseWriter, r *http.Request) (any, error) {
	up := &session{
		bucket: r.PathValue("bucket"), precondition: r.URL.Query().Get("ifGenerationMatch"), content: s.newContent(),
	}
	metadata, media, err := parts(r)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(metadata, &up.object); err != nil || up.object.Name == "" {
		return nil, refusal(http.StatusBadRequest, "the metadata is no object with a name: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(up); err != nil {
		return nil, err
	}
	if r.URL.Query().Get("uploadType") == "multipart" {
		if err := s.receive(up, media); err != nil {
			return nil, err
		}
		return s.complete(up, up.object.Crc32c)
	}
	s.made++
	id := fmt.Sprintf("session-%d", s.made)
	s.sessions[id] = up
	w.Header().Set("Location", s.server.URL+"/sessions/"+id+"?upload_id=secret-of-"+id)
	w.WriteHeader(http.StatusOK)
	return nil, nil //nolint:nilnil // it has answered
}

// parts returns the metadata and, of a multipart upload, the content.
func parts(r *http.Request) (metadata, media []byte, err error) {
	if r.URL.Query().Get("uploadType") != "multipart" {
		metadata, err = io.ReadAll(r.Body)
		return metadata, nil, err
	}
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, nil, err
	}
	both := [2][]byte{}
	reader := multipart.NewReader(r.Body, parameters["boundary"])
	for i := range both {
		part, err := reader.NextPart()
		if err != nil {
			return nil, nil, err
		}
		if both[i], err = io.ReadAll(part); err != nil {
			return nil, nil, err
		}
	}
	return both[0], both[1], nil
}

// may checks what does not depend on the content.
func (s *Sim) may(up *session) error { return s.mayCreate(up.bucket, up.object.Name, up.precondition) }

// mayCreate checks whether an object may be created under a precondition; empty for none.
func (s *Sim) mayCreate(bucket, name, precondition string) error {
	at := bucket + "/" + name
	switch {
	case !slices.Contains(s.config.Buckets, bucket):
		return refusal(http.StatusNotFound, "The specified bucket does not exist.")
	case s.denied["storage.objects.create"]:
		return lacks("storage.objects.create")
	case s.objects[at] != nil && s.denied["storage.objects.delete"]:
		return lacks("storage.objects.delete")
	case precondition != "" && precondition != fmt.Sprint(s.generationOf(at)):
		return refusal(http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
	}
	return nil
}

func (s *Sim) generationOf(at string) int64 {
	if object := s.objects[at]; object != nil {
		return object.Generation
	}
	return 0
}

// resume receives a chunk of a session.
func (s *Sim) resume(w http.ResponseWriter, r *http.Request) (any, error) {
	chunk, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	up := s.sessions[r.PathValue("id")]
	if up == nil {
		return nil, refusal(http.StatusNotFound, "There is no such session.")
	}
	if up.done != nil {
		return &up.done.Object, nil
	}
	from, last, err := contentRange(r.Header.Get("Content-Range"))
	known := up.content.size - from // bytes of the chunk that were received before
	switch {
	case err != nil:
		return nil, err
	case from >= 0 && known < 0:
		return nil, refusal(http.StatusBadRequest, "The chunk begins at %d, behind the %d bytes received.", from,
			up.content.size)
	case !last && len(chunk)%(256<<10) != 0:
		return nil, refusal(http.StatusBadRequest, "A chunk of %d bytes is no multiple of 256 KiB.", len(chunk))
	case from >= 0 && known < int64(len(chunk)):
		err = s.receive(up, chunk[known:])
	}
	if err != nil {
		return nil, err
	}
	if !last {
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", up.content.size-1))
		if r.Header.Get("X-Guploader-No-308") == "yes" {
			w.Header().Set("X-Http-Status-Code-Override", "308")
			w.WriteHeader(http.StatusOK)
		} else {
			w.WriteHeader(http.StatusPermanentRedirect)
		}
		return nil, nil //nolint:nilnil // it has answered
	}
	if err := s.may(up); err != nil {
		return nil, err
	}
	sent, _ := strings.CutPrefix(r.Header.Get("X-Goog-Hash"), "crc32c=")
	return s.complete(up, sent)
}

// contentRange reads "bytes 0-99/*", "bytes 100-149/150" and "bytes */150". Only the first is not
// of the last chunk. from is negative if there is no content.
func contentRange(header string) (from int64, last bool, err error) {
	rest, ok := strings.CutPrefix(header, "bytes ")
	span, total, slash := strings.Cut(rest, "/")
	if !ok || !slash {
		return 0, false, refusal(http.StatusBadRequest, "Content-Range %q cannot be read.", header)
	}
	if span == "*" {
		return -1, total != "*", nil
	}
	var until int64
	if _, err := fmt.Sscanf(span, "%d-%d", &from, &until); err != nil {
		return 0, false, refusal(http.StatusBadRequest, "Content-Range %q cannot be read.", header)
	}
	return from, total != "*", nil
}

// receive adds content to an upload.
func (s *Sim) receive(up *session, sent []byte) error {
	if s.damaged > 0 && len(sent) > 0 {
		s.damaged--
		sent = slices.Clone(sent)
		sent[0] ^= 1
	}
	_, err := up.content.Write(sent)
	return err
}

// complete makes the object of an upload, if its content matches the checksum that was sent with
// it.
func (s *Sim) complete(up *session, sent string) (any, error) {
	if sum := checksum(up.content.sum); sent != "" && sent != sum {
		return nil, refusal(http.StatusBadRequest, "Provided CRC32C %q doesn't match calculated CRC32C %q.", sent, sum)
	}
	up.done = &Object{Object: up.object}
	up.done.Bucket = up.bucket
	s.keep(up.done, up.content)
	return &up.done.Object, nil
}
