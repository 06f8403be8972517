package ledgertest

// A Bill is what Firestore bills of some calls: documents read and written. A document that is asked
// for is a read whether it exists or not, and so is a query that finds nothing.
type Bill struct{ Reads, Writes int }

// Plus returns both bills in one.
func (b Bill) Plus(other Bill) Bill {
	return Bill{Reads: b.Reads + other.Reads, Writes: b.Writes + other.Writes}
}

// Minus returns what of a bill is beside another.
func (b Bill) Minus(other Bill) Bill {
	return Bill{Reads: b.Reads - other.Reads, Writes: b.Writes - other.Writes}
}

// Of the life of an operation with one effect, by its steps. TestWhatALifeCosts of the Firestore store
// measures them.
var (
	BillRegister = Bill{Reads: 1, Writes: 1}
	BillWebhook  = Bill{Reads: 2, Writes: 3} // record and delivery; these, and the effect
	BillClaim    = Bill{Reads: 2, Writes: 1} // the effect and its record
	BillFinish   = Bill{Reads: 2, Writes: 2}
	BillItem     = Bill{Writes: 1} // each item of a batch, beside its chunk
)

// BillWait is that of GET /operations/NAME?wait=30s where the operation does not end meanwhile. TestReadWaits of
// Register measures it.
var BillWait = Bill{Reads: 14}

// Of the passes of a day, every five minutes. TestWhatADayCosts of reconciliation measures them. The
// costs in infra/README.md are computed from these and from those of a life.
var (
	BillIdleDay      = Bill{Reads: 5 * 288, Writes: 288} // nothing is pending; each pass reports how it ended
	BillDeliveredDay = Bill{Reads: 54, Writes: 55}       // what a batch adds, pending all day, where a webhook delivers
	BillPolledDay    = Bill{Reads: 290, Writes: 291}     // the same without a webhook
)
