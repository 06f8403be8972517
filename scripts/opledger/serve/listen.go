package serve

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

// listenSettings are the settings about where to listen and who may call.
type listenSettings struct {
	Port   config.Port
	Access config.Access
}

// listenFlags are the flags about where to listen and who may call.
type listenFlags struct {
	host       string
	port       int
	webhook    string   // address for /webhook alone; empty: none
	allowHosts []string // besides loopback's
	metrics    MetricsFlag
}

func (f *listenFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.port, "port", 8080, "port to listen on; 0 chooses a free one (default $PORT, else 8080)")
	flags.StringVar(&f.host, "host", "127.0.0.1", "address to listen on; beyond loopback it needs a token")
	flags.StringVar(&f.webhook, "webhook-listen", "", "HOST:PORT to answer /webhook alone on, for a tunnel (default none)")
	f.metrics.Add(cmd)
	flags.StringSliceVar(&f.allowHosts, "allow-host", nil,
		"a Host that requests may name besides loopback's; needs a token; repeatable")
}

// Addresses are where serve listens.
type addresses struct {
	main     *net.TCPAddr
	webhooks []*net.TCPAddr
	metrics  *net.TCPAddr // nil: none
}

// check returns where to listen, or every problem. It refuses what would open the ledger to callers
// that cannot be told apart. A simulation makes no token.
func (f *listenFlags) check(cmd *cobra.Command, outside terminal.Environment, simulate bool) (addresses, error) {
	settings, err := config.Parse[listenSettings](outside.Variables)
	p := diag.Problems{err}
	token := settings.Access.Token
	open := token == config.NoToken || token == "" && simulate
	variable, port := "--port", f.port
	if !cmd.Flags().Changed("port") {
		variable, port = "PORT", settings.Port.Number
	}
	if port < 0 || port > 65535 {
		p.Of(variable, fmt.Errorf("it must be from 0 to 65535, not %d", port))
		port = 0
	}
	var at addresses
	at.main, err = net.ResolveTCPAddr("tcp", net.JoinHostPort(f.host, strconv.Itoa(port)))
	p.When(err != nil, "--host: %s is no address of this machine: %w", diag.Quote(f.host), err)
	p.When(err == nil && !server.IsLoopback(at.main) && open, "--host: beyond loopback, as on %s, callers must send a "+
		"token: set OPLEDGER_SERVE_TOKEN (openssl rand -base64 32 makes one); for Gemini's deliveries alone "+
		"--webhook-listen is enough", diag.Quote(f.host))
	if f.webhook != "" {
		address, err := net.ResolveTCPAddr("tcp", f.webhook)
		p.When(err != nil, "--webhook-listen: it must be HOST:PORT, such as 127.0.0.1:8081: %w", err)
		at.webhooks = append(at.webhooks, address)
	}
	at.metrics, err = f.metrics.Address()
	p = append(p, err)
	for _, host := range f.allowHosts {
		p.Of("--allow-host", server.CheckHost(host))
	}
	p.When(len(f.allowHosts) > 0 && open, "--allow-host: callers that use another name than loopback's may be anywhere "+
		"and must send a token: set OPLEDGER_SERVE_TOKEN (openssl rand -base64 32 makes one)")
	return at, errors.Join(p...)
}

// Ports are the open ports of serve.
type ports struct {
	main     net.Listener
	webhooks []net.Listener // for /webhook alone
	metrics  net.Listener   // for /metrics and /alerts.yml alone; nil: none
}

// listen opens the ports.
func (a addresses) listen() (p ports, err error) {
	if p.main, err = listenOn(a.main, "--port"); err != nil {
		return ports{}, err
	}
	for _, address := range a.webhooks {
		l, err := listenOn(address, "--webhook-listen")
		if err != nil {
			p.close()
			return ports{}, err
		}
		p.webhooks = append(p.webhooks, l)
	}
	if a.metrics != nil {
		if p.metrics, err = listenOn(a.metrics, "--metrics-listen"); err != nil {
			p.close()
			return ports{}, err
		}
	}
	return p, nil
}

// close closes the ports, unless a server has done so.
func (p ports) close() {
	for _, l := range append(p.webhooks, p.main) {
		_ = l.Close()
	}
	if p.metrics != nil {
		_ = p.metrics.Close()
	}
}

// url is the address at which this machine reaches the functions.
func (p ports) url() string {
	address, ok := p.main.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsUnspecified() {
		return "http://" + p.main.Addr().String()
	}
	return fmt.Sprintf("http://127.0.0.1:%d", address.Port)
}
