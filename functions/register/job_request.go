package register

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A jobRequest is the body of POST /jobs/{id}: what a submitter says, its options, and its input.
type jobRequest struct {
	operation.Submission
	job.Options
	// RetryOn is read last, in place of the options': a long list would take many times its bytes.
	RetryOn json.RawMessage `json:"retryOn"`
	Input   json.RawMessage `json:"input"`
	// Deadline is a text, in place of the options' time.
	Deadline string `json:"deadline"`
}

// A jobInput is what a submitter says about the input, an object of job storage.
type jobInput struct {
	SHA256   string `json:"sha256"`
	Bytes    int64  `json:"bytes"`
	Requests int64  `json:"requests"`
	Tokens   int64  `json:"tokens"`
	Object   string `json:"object"`
}

// leastLine is how many bytes a request takes in an input at least.
const leastLine = len(`{"key":"a","request":{}}` + "\n")

// maxRetryOn bounds the JSON of retryOn, in bytes.
const maxRetryOn = 100

var sha256Pattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// jobForm is what the body of POST /jobs/{id} must be.
const jobForm = `a job is {"model":"gemini-3.5-flash","input":{"sha256":"…","bytes":1000,"requests":10},…}`

// parseJobRequest reads the body of POST /jobs/{id}. problems are those of its address. The error is a
// *httpfunc.Error with all problems.
func parseJobRequest(
	key operation.Key, body []byte, storage string, began time.Time, problems operation.Problems,
) (ledger.JobRequest, error) {
	var request jobRequest
	read := readFields(body, jobForm, &request)
	problems.When(!readOutcomes(request.RetryOn, &request.Options.RetryOn), "retryOn",
		`it must be a list of "invalid", "truncated" or both`)
	var err error
	request.Options.Deadline, err = job.ParseDeadline(began.UTC(), request.Deadline)
	problems.When(err != nil, "deadline", "%w", err)
	input, wrong := parseJobInput(request.Input, key, storage)
	asked := ledger.JobRequest{
		Key: key, Submission: request.Submission, Options: request.Options, Input: input, Storage: storage,
	}
	for _, p := range asked.Validate() {
		if p.Field != "id" && p.Field != "input" { // these are in problems, and in wrong
			problems = append(problems, p)
		}
	}
	return asked, read.with(append(problems, wrong...))
}

// readOutcomes reads a list of outcomes, if one is given, and reports whether it could be read.
func readOutcomes(given json.RawMessage, into any) bool {
	return given == nil || len(given) <= maxRetryOn && json.Unmarshal(given, into) == nil
}

// parseJobInput returns the input of a job, and what is wrong with it. Its object is the one that the job's
// steps will read; a caller that names one must mean the same.
func parseJobInput(body json.RawMessage, key operation.Key, storage string) (job.Input, operation.Problems) {
	var problems operation.Problems
	var given jobInput
	read := readFields(body, "", &given)
	if read.unfit != nil {
		problems.Add("input", `it must be {"sha256":"…","bytes":1000,"requests":10}`)
		return job.Input{}, problems
	}
	problems.When(!sha256Pattern.MatchString(given.SHA256), "sha256",
		"it must be the SHA-256 of the input, as 64 hexadecimal digits in lower case")
	problems.When(given.Bytes < 1, "bytes", "it must be the size of the input, not %d", given.Bytes)
	most := given.Bytes / int64(leastLine)
	problems.When(given.Requests < 1 || given.Requests > most && most > 0, "requests",
		"it must be the number of requests, at least 1 and at most one for %d bytes, not %d", leastLine, given.Requests)
	problems.When(given.Tokens < 0, "tokens", "it must be an estimate of the input's tokens, not %d", given.Tokens)
	input := job.Input{SHA256: given.SHA256, Bytes: given.Bytes, Requests: given.Requests, Tokens: given.Tokens}
	if len(problems) == 0 && key != "" {
		input.Object = files.Input(key, given.SHA256)
		whole := storage + "/" + input.Object
		problems.When(given.Object != "" && given.Object != input.Object && given.Object != whole, "object",
			"it must be %s, where the job's steps read it", whole)
	}
	var named operation.Problems
	for _, p := range read.all(problems) {
		named.Add("input."+p.Field, "%w", p.Err)
	}
	return input, named
}

// addUndecided adds to problems that a decision about a job does not say who decides, or why.
func addUndecided(problems *operation.Problems, d ledger.Decision) {
	problems.When(d.By == "", "by", "it is missing; say who decides that")
	problems.When(d.Why == "", "why", "it is missing; say why")
}

// parseDecision reads the body of POST /jobs/{id}:cancel, :pause and :resume. problems are those of its address. The
// error is a *httpfunc.Error with all problems.
func parseDecision(body []byte, problems operation.Problems) (ledger.Decision, error) {
	var given ledger.Decision
	read := readFields(body, `write {"by":"ann","why":"the prompt was wrong"}`, &given)
	addUndecided(&problems, given)
	return given, read.with(problems)
}

// parseChange reads the body of PATCH /jobs/{id}: limits, with who changes them and why. The error is as that of
// parseDecision.
func parseChange(
	body []byte, began time.Time, problems operation.Problems,
) (job.Limits, ledger.Decision, error) {
	var given struct {
		job.Limits
		ledger.Decision
		Deadline *string `json:"deadline"` // in place of the limits' time
	}
	read := readFields(body, `write {"maxBatches":5,"by":"ann","why":"the quota is needed elsewhere"}`, &given)
	if given.Deadline != nil {
		at, err := job.ParseDeadline(began.UTC(), *given.Deadline)
		given.Limits.Deadline = &at
		problems.When(err != nil, "deadline", "%w", err)
	}
	if len(read.unread) == 0 {
		problems = append(problems, given.Limits.Problems(began)...)
	}
	addUndecided(&problems, given.Decision)
	return given.Limits, given.Decision, read.with(problems)
}
