package ledger

// A Reading is the half of a Ledger that changes nothing. Nothing leads from it to the other half, so
// that a package which is handed a Reading cannot write.
type Reading struct {
	Operations operationsReader
	Effects    effectsReader
	Items      itemsReader
	Intents    intentsReader
	Jobs       jobsReader
	Passes     passesReader
	Quarantine quarantineReader
}

// The nouns, as far as they change nothing.
type (
	operationsReader struct{ *protocol }
	effectsReader    struct{ *protocol }
	itemsReader      struct{ *protocol }
	intentsReader    struct{ *protocol }
	jobsReader       struct{ *protocol }
	passesReader     struct{ *protocol }
	quarantineReader struct{ *protocol }
)

// Reading returns the half of the ledger that changes nothing.
func (l *Ledger) Reading() Reading { return l.reading() }

func (l *protocol) reading() Reading {
	return Reading{
		Operations: operationsReader{l}, Effects: effectsReader{l}, Items: itemsReader{l}, Intents: intentsReader{l},
		Jobs:   jobsReader{l},
		Passes: passesReader{l}, Quarantine: quarantineReader{l},
	}
}
