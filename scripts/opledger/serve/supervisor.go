package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/opledger/opledger/shared/config"
)

// A supervisor is what started serve and is told how it is: systemd, for a unit with Type=notify. What it is told
// is the protocol of sd_notify(3): a datagram for each message.
type supervisor struct {
	socket string        // that it listens at; empty: there is none
	within time.Duration // at least one sign of life is due in each; 0: none is
}

// newSupervisor finds the supervisor in the variables that it set, or what is wrong with them.
func newSupervisor(variables []string) (supervisor, error) {
	set := config.Variables(variables)
	s := supervisor{socket: set["NOTIFY_SOCKET"]}
	if s.socket == "" || set["WATCHDOG_USEC"] == "" {
		return s, nil
	}
	usec, err := strconv.ParseInt(set["WATCHDOG_USEC"], 10, 64)
	if err != nil || usec <= 0 || time.Duration(usec) > time.Duration(1<<63-1)/time.Microsecond {
		return supervisor{}, fmt.Errorf("WATCHDOG_USEC: it must be a number of microseconds, not %q; systemd sets it",
			set["WATCHDOG_USEC"])
	}
	s.within = time.Duration(usec) * time.Microsecond
	return s, nil
}

// tell sends a message, such as READY=1. Without a supervisor it does nothing.
func (s supervisor) tell(message ...string) error {
	if s.socket == "" {
		return nil
	}
	connection, err := net.Dial("unixgram", s.socket) // @ is a name that is in no folder
	if err == nil {
		_, err = connection.Write([]byte(strings.Join(message, "\n")))
		err = errors.Join(err, connection.Close())
	}
	if err != nil {
		return fmt.Errorf("telling systemd at NOTIFY_SOCKET: %w", err)
	}
	return nil
}

// watch tells the supervisor three times in the time that it allows that serve answers at url, until ctx ends. A
// serve that does not answer any more says nothing, so systemd ends it and starts another. The ledger is not asked:
// another process would not have a better one.
func (s supervisor) watch(ctx context.Context, url string) {
	if s.within == 0 {
		return
	}
	client := &http.Client{Transport: &http.Transport{}, Timeout: s.within / signsOfLife} // without a proxy
	defer client.CloseIdleConnections()
	tick := time.Tick(s.within / signsOfLife)
	for {
		if answers(ctx, client, url) {
			_ = s.tell("WATCHDOG=1") // the next one may arrive
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

const signsOfLife = 3

func answers(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(request)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return true // it has closed the connection, as one too many: all others are busy
	}
	return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}
