package simulation

import (
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/ledger"
)

// waits reports whether another process of the same group must begin first. They do the same under
// other names: where a later one begins first, the same happens under exchanged names.
func (x *Walking) waits(a *actorState) bool {
	if x.small.Whole {
		return false
	}
	for _, other := range x.actors {
		if other == a {
			return false
		}
		if other.group == a.group && !other.began {
			return true
		}
	}
	return false
}

// doomed reports whether a call is a commit that can only be refused: a document has changed since
// it was read, and no token comes back. It changes nothing whenever it arrives, so it arrives
// first.
func (x *Walking) doomed(a *actorState, label string) bool {
	writes := a.commit(label)
	return x.conditional() && slices.ContainsFunc(writes, func(w ledger.Write) bool {
		return x.w.store.documents[w.Path].version() != w.Token
	})
}

// unseen reports whether a call is a request to the receiver, and no time can pass: no other process
// sees when it arrives, so it arrives at once.
func (x *Walking) unseen(label string) bool {
	return !x.small.Whole && strings.Contains(label, performs) && x.timeless()
}

// follows reports whether a call is a commit of what its process has just read, in the only read of
// its try, and writes the pivot. It arrives at once. An order in which something comes between the
// read and the commit leads nowhere else:
//
//   - Another commit would write the pivot, too. Then this one is refused, and its process reads
//     again, as if it had not read before.
//   - Any other call changes no document. The read would be answered the same after it.
//   - A passing of time would be seen, so none may be left.
//   - That the process dies is an option of the commit.
func (x *Walking) follows(a *actorState, label string) bool {
	return x.conditional() && x.timeless() && a.onlyRead && a.reads == 1 && x.writesPivot(a.commit(label))
}

func (x *Walking) writesPivot(writes []ledger.Write) bool {
	return slices.ContainsFunc(writes, func(w ledger.Write) bool { return w.Path == x.small.Pivot })
}

// conditional reports whether orders may be left out because of the preconditions of commits.
func (x *Walking) conditional() bool { return !x.small.Whole && x.small.Flaw != NoCondition }

// timeless reports whether no time can pass any more while a call is on its way.
func (x *Walking) timeless() bool { return x.jumps == len(x.small.Jumps) }
