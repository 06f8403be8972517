package job

// WithMaxBytes returns the options with another bound of what is read, unpacked.
func (o CanonicalOptions) WithMaxBytes(n int64) CanonicalOptions {
	o.maxBytes = n
	return o
}

// AppendLine appends the request as a canonical line. Its body must be compact JSON.
func (r Request) AppendLine(to []byte) []byte {
	return append(append(appendHead(to, r.Key), r.Body...), afterBody, '\n')
}

// ParseRequest reads a line of an input, as canonicalizing does. keyField is another name of the key; empty for key.
func ParseRequest(line []byte, keyField string) (Request, error) {
	r := readRequest(line, keyField)
	if err := r.problems.Err(); err != nil {
		return Request{}, err
	}
	return r.Request, nil
}
