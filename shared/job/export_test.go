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
