package simulation

// Met counts what a schedule met, by the names of the fates and of the outcomes: what no schedule
// meets is not tested.
type Met map[string]int

// The outcomes that are counted.
const (
	metDead         = "an effect is DEAD at the end"
	metReopened     = "an operator reopens what is DEAD"
	metRevived      = "what was DEAD is DONE"
	metSeized       = "a claim is seized"
	metRepeated     = "an effect is performed again by another claim"
	metItemRepeated = "an item is performed again by another claim"
	metItemFailed   = "an item is given up"
	metMissing      = "Gemini does not know an operation"
	metStuck        = "an operation is stuck"
	metLeapt        = "the store's clock leaps"

	metRecordExpired = "a record expires"
	metEffectExpired = "an effect expires"
	metWithheld      = "an effect is withheld"

	metAgain        = "a request is sent again"
	metRefused      = "a batch is refused as a whole"
	metRefusedLate  = "a batch ends as refused as a whole"
	metReleased     = "a part is released"
	metGivenUp      = "a start is given up"
	metDropped      = "a part is dropped"
	metStopped      = "a job is stopped"
	metJobCancelled = "a job is cancelled"
	metAfterCancel  = "a batch is created though its job is cancelled"
	metPaused       = "a job is paused"
	metResumed      = "a job is resumed"
	metDeadline     = "a job's deadline is reached"
	metPilotHeld    = "a job is held for its pilot"
	metLostHeld     = "a job is held for files that are lost"
	metUnsent       = "a request ends unsent, as it names a file that is lost"
	metCostHeld     = "a job is held for its cost"
	metCostRaised   = "a job goes on that was held for its cost"
	metHalved       = "what a batch may hold is halved"
	metRedriven     = "a job is redriven"
	metNotRedriven  = "a redrive is refused"
	metMerged       = "results are merged"
	metDiffers      = "another job has the id"
	metChunk        = "a collect goes on where another stopped"
)
