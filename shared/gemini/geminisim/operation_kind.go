package geminisim

import "math/rand/v2"

// State is an operation's state. That of a batch or an interaction is the API's word. A video has
// none on the wire, so its states have names of the simulator's own. A test may give a batch or an
// interaction any other state.
type State string

// The states of a batch (documented). There is no CANCELLING.
const (
	StatePending   State = "BATCH_STATE_PENDING"
	StateRunning   State = "BATCH_STATE_RUNNING"
	StateSucceeded State = "BATCH_STATE_SUCCEEDED"
	StateFailed    State = "BATCH_STATE_FAILED"
	StateCancelled State = "BATCH_STATE_CANCELLED"
	StateExpired   State = "BATCH_STATE_EXPIRED"
)

// The states of a video. VideoFiltered ends without samples and has the number of filtered ones
// (seen live). VideoEmpty ends with no samples, no error and no such number (reported).
const (
	VideoRunning   State = "video_running"
	VideoSucceeded State = "video_succeeded"
	VideoFailed    State = "video_failed"
	VideoFiltered  State = "video_filtered"
	VideoEmpty     State = "video_empty"
)

// The statuses of an interaction (SDK v1.77.0). The two that require something wait for the client
// without end.
const (
	InteractionQueued               State = "queued"
	InteractionInProgress           State = "in_progress"
	InteractionRequiresAction       State = "requires_action"
	InteractionRequiresContinuation State = "requires_continuation"
	InteractionCompleted            State = "completed"
	InteractionFailed               State = "failed"
	InteractionCancelled            State = "cancelled"
	InteractionIncomplete           State = "incomplete"
	InteractionBudgetExceeded       State = "budget_exceeded"
)

// Terminal reports whether an operation in this state has ended.
func (st State) Terminal() bool {
	switch st {
	case StateSucceeded, StateFailed, StateCancelled, StateExpired,
		VideoSucceeded, VideoFailed, VideoFiltered, VideoEmpty,
		InteractionCompleted, InteractionFailed, InteractionCancelled, InteractionIncomplete, InteractionBudgetExceeded:
		return true
	}
	return false
}

// kind holds what differs between the kinds of operations.
type kind struct {
	name           string // names the random streams
	plans          string // goes before the number of an operation in the stream of its plan
	first, running State  // the same where the API shows no difference
	// The ends that Faults.Failed, Cancelled and Expired stand for, and the one that is left.
	succeeded, failed, cancelled, expired State
	// events are the types of the events for states. A state without one shows only in the API.
	events   map[State]string
	progress string // the event of Faults.Reordered, or ""
	hides    bool   // Faults.Hidden applies
	newID    func(*rand.Rand) string
}

// No event is documented for a failed video, for an interaction that ends incomplete or over
// budget, or for a cancellation; cancelledEvents are for Config.NineEvents.
var (
	batchKind = &kind{
		name: "batch", first: StatePending, running: StateRunning,
		succeeded: StateSucceeded, failed: StateFailed, cancelled: StateCancelled, expired: StateExpired,
		events: map[State]string{
			StateSucceeded: "batch.succeeded",
			StateFailed:    "batch.failed",
			StateExpired:   "batch.expired",
		},
		progress: "batch.running",
		newID:    func(r *rand.Rand) string { return id(r, 36) },
	}
	videoKind = &kind{
		name: "video", plans: "video ", first: VideoRunning, running: VideoRunning,
		succeeded: VideoSucceeded, failed: VideoFailed, cancelled: VideoFiltered, expired: VideoEmpty,
		events: map[State]string{VideoSucceeded: "video.generated"},
		newID:  func(r *rand.Rand) string { return id(r, 12) },
	}
	interactionKind = &kind{
		name: "interaction", plans: "interaction ", first: InteractionInProgress, running: InteractionInProgress,
		succeeded: InteractionCompleted, failed: InteractionFailed, cancelled: InteractionCancelled,
		expired: InteractionIncomplete,
		events: map[State]string{
			InteractionRequiresAction: "interaction.requires_action",
			InteractionCompleted:      "interaction.completed",
			InteractionFailed:         "interaction.failed",
		},
		hides: true,
		newID: func(r *rand.Rand) string { return "v1_" + draw(r, urlSafe, 44) },
	}
)

// cancelledEvents are the two that only older pages name.
var cancelledEvents = map[State]string{
	StateCancelled:       "batch.cancelled",
	InteractionCancelled: "interaction.cancelled",
}

// event returns the type of the event for a state, or "".
func (s *Sim) event(k *kind, state State) string {
	if e := k.events[state]; e != "" || !s.cfg.NineEvents {
		return e
	}
	return cancelledEvents[state]
}
