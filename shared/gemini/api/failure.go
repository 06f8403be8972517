package api

import "fmt"

// A Failure is an error that Gemini put into its answer, in its own words.
type Failure struct {
	// There says that there is one, which may be without words.
	There                 bool
	Code, Status, Message string
}

// Read reads an error. Anything but an object with members is none.
func (f *Failure) Read(j *JSON) error {
	members := Members{"code": Scalar(&f.Code), "status": Text(&f.Status), "message": Text(&f.Message)}
	return j.Object(func(key string) error {
		f.There = true
		return members.Read(j, key)
	})
}

// Complaint completes a sentence about what is missing with the error that was sent instead.
func (f *Failure) Complaint() string {
	if !f.There {
		return ""
	}
	return fmt.Sprintf(", but the error %s: %s", f.Code, f.Message)
}
