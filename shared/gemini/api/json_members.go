package api

import "encoding/json"

// A Value reads one value of a JSON text, where one begins.
type Value func(*JSON) error

// Members are the values that are read of an object, by name. Every other member is skipped.
type Members map[string]Value

// Read reads the value of a member.
func (m Members) Read(j *JSON, key string) error {
	if read, wanted := m[key]; wanted {
		return read(j)
	}
	return j.Skip()
}

// DocumentOf is Document with these members.
func (j *JSON) DocumentOf(m Members) error {
	return j.Document(func(key string) error { return m.Read(j, key) })
}

// Object is a value of which, if it is an object, m is read.
func Object(m Members) Value {
	return func(j *JSON) error { return j.Object(func(key string) error { return m.Read(j, key) }) }
}

// Each is a value of which, if it is a list, each item is read.
func Each(item Value) Value {
	return func(j *JSON) error { return j.Each(func() error { return item(j) }) }
}

// Text is a value that is read into to if it is a text.
func Text(to *string) Value { return func(j *JSON) error { return j.Text(to) } }

// Scalar is a value that is read into to if it is a text or a number.
func Scalar(to *string) Value { return func(j *JSON) error { return j.Scalar(to) } }

// Bool is a value that must be true or false.
func Bool(to *bool) Value { return func(j *JSON) error { return j.Bool(to) } }

// Raw is any value, as it was written.
func Raw(to *json.RawMessage) Value { return func(j *JSON) error { return j.Raw(to) } }
