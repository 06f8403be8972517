package canary

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
)

// passLimit is longer than a pass may take.
const passLimit = 5 * time.Minute

// schedule runs the scheduler's job now, and waits for its pass.
func (c *Canary) schedule(ctx context.Context, s *Step) error {
	before, err := c.job(ctx)
	if err != nil {
		return err
	}
	id := c.Place.name("reconcile")
	where := fmt.Sprintf("%s --location=%s --project=%s", id, c.Place.Region, c.Place.Project)
	if before.State != "ENABLED" {
		return cut("gcloud scheduler jobs resume "+where, "the scheduler job %s is %s: no pass is made", id,
			strings.ToLower(before.State))
	}
	since, err := c.storeTime(ctx)
	if err != nil {
		return err
	}
	if err := c.Google.runJob(ctx, c.jobName()); err != nil {
		return cut("roles/cloudscheduler.jobRunner; gcloud scheduler jobs run "+where, "the job was not run: %w", err)
	}
	s.did("the scheduler job %s was run", id)
	by := caller{
		account: before.HTTPTarget.OIDCToken.ServiceAccountEmail, audience: before.HTTPTarget.OIDCToken.Audience,
		look: "gcloud scheduler jobs describe " + where,
	}
	found, err := c.await(ctx, passLimit, func() (bool, error) { return c.passed(ctx, s, before, by, since) })
	if err == nil && !found {
		err = c.unseen(ctx, id, since, "the job was run, and %s has logged no pass within %s", id, passLimit)
	}
	return err
}

// passed looks once for the pass, and for what shows that there will be none.
func (c *Canary) passed(ctx context.Context, s *Step, before job, by caller, since time.Time) (bool, error) {
	id := c.Place.name("reconcile")
	lines, err := c.Google.lines(ctx, c.Place.Project, id, since, "reconcile", []string{"pass", "error"})
	if err != nil {
		return false, err
	}
	for _, line := range slices.Backward(lines) { // the oldest first
		if line.began().Before(since.Add(-time.Second)) {
			continue // it was under way
		}
		if line.text("outcome") == "error" && line.text("operation") != "" {
			continue // about one record
		}
		if line.text("outcome") == "error" {
			return false, cut("infra/playbooks/reconcile-errors.md", "the pass could not read: %s", line.text("error"))
		}
		s.Counts = line.counts()
		s.did("%s", passWords(s.Counts))
		return true, nil
	}
	// The log of a refusal is written before the job has its code: read in this order, a code that is
	// there has its reason, too.
	after, err := c.job(ctx)
	if err != nil {
		return false, err
	}
	if err := c.refusedAtDoor(ctx, id, since, by); err != nil {
		return false, err
	}
	// A job that was never run, or whose attempt has not ended, has -1 for a code.
	if after.Status.Code > 0 && after.LastAttemptTime.After(before.LastAttemptTime) {
		return false, cut("infra/playbooks/schedule-failing.md", "the scheduler's call of %s failed: %s", id,
			codes.Code(after.Status.Code))
	}
	return false, nil
}

// passWords says what a pass did.
func passWords(counts map[string]any) string {
	words := []string{}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if value := counts[name]; value == 0.0 || value == false {
			continue
		}
		words = append(words, fmt.Sprintf("%s %v", name, counts[name]))
	}
	if len(words) == 0 {
		return "the pass found nothing due"
	}
	return "the pass: " + strings.Join(words, ", ")
}

func (c *Canary) jobName() string {
	return "projects/" + c.Place.Project + "/locations/" + c.Place.Region + "/jobs/" + c.Place.name("reconcile")
}

// job reads the scheduler's job.
func (c *Canary) job(ctx context.Context) (job, error) {
	found, err := c.Google.job(ctx, c.jobName())
	var answered *googleapi.Error
	switch {
	case err == nil:
		return found, nil
	case errors.As(err, &answered) && answered.Code == http.StatusNotFound:
		return found, cut("scripts/doctor; --region and --prefix must be those of the deployment",
			"there is no scheduler job %s", c.jobName())
	default:
		return found, cut("roles/cloudscheduler.viewer on the project", "the scheduler job cannot be read: %w", err)
	}
}
