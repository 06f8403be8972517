package serve

import (
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
)

// MetricsFlag is where /metrics is answered.
type MetricsFlag string

// Add adds the flag to a command.
func (f *MetricsFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "metrics-listen", "",
		"HOST:PORT to answer /metrics and /alerts.yml alone on, for Prometheus; :PORT is on loopback (default none)")
}

// Address returns where to listen; nil without the flag. A port alone is on loopback: the address has no token.
func (f *MetricsFlag) Address() (*net.TCPAddr, error) {
	text := string(*f)
	if text == "" {
		return nil, nil //nolint:nilnil // no address is what was asked for
	}
	if strings.HasPrefix(text, ":") {
		text = "127.0.0.1" + text
	}
	address, err := net.ResolveTCPAddr("tcp", text)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: it must be HOST:PORT, or :PORT on loopback, such as :9464: %w", err)
	}
	return address, nil
}

// Listen opens the port; nil without the flag.
func (f *MetricsFlag) Listen() (net.Listener, error) {
	address, err := f.Address()
	if err != nil || address == nil {
		return nil, err
	}
	return listenOn(address, "--metrics-listen")
}

// listenOn opens a port. flag chooses another one.
func listenOn(address *net.TCPAddr, flag string) (net.Listener, error) {
	l, err := net.ListenTCP("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("opening the port: %w; choose another with %s", err, flag)
	}
	return l, nil
}
