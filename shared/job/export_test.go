package job

// WithMaxBytes returns the options with another bound of what is read, unpacked.
func (o CanonicalOptions) WithMaxBytes(n int64) CanonicalOptions {
	o.maxBytes = n
	return o
}
