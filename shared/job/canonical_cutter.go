package job

// A Cutter cuts a canonical input into the ranges of which split makes batches: as many lines as a batch may
// have, in their order; the first has no more than the pilot. A line that is larger than a batch is alone in one. It
// decides by the sizes of the lines alone, so the same input is always cut alike, and may be cut on from the end of
// any range.
type Cutter struct {
	maxRequests, maxBytes int64
	pilot                 int64 // zero: none
	open                  Source
}

// NewCutter returns a cutter of an object from an offset in bytes on, where a range has ended.
func NewCutter(o Options, object string, from int64) *Cutter {
	o = o.WithDefaults()
	return &Cutter{
		maxRequests: o.MaxRequestsPerBatch, maxBytes: o.MaxBytesPerBatch, pilot: o.Pilot,
		open: Source{Object: object, Offset: from},
	}
}

// Add adds a line of so many bytes, its line end included. Where the line begins another range, it returns
// the one that is finished.
func (c *Cutter) Add(lineBytes int64) (finished Source, ok bool) {
	most := c.maxRequests
	if c.pilot > 0 && c.open.Offset == 0 {
		most = c.pilot
	}
	full := c.open.Requests >= most || c.open.Length+lineBytes > c.maxBytes
	if ok = full && c.open.Requests > 0; ok {
		finished = c.open
		c.open = Source{Object: finished.Object, Offset: finished.Offset + finished.Length}
	}
	c.open.Length += lineBytes
	c.open.Requests++
	return finished, ok
}

// Rest returns the range of the lines behind the last that is finished, if there are any.
func (c *Cutter) Rest() (Source, bool) { return c.open, c.open.Requests > 0 }
