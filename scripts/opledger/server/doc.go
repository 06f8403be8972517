// Package server runs the four functions in one process, over any store.
//
// # Who may call which route
//
// Deployed, IAM protects every function but the webhook. Here nothing does, and browsers, proxies
// and tunnels bring the process requests from anywhere. Each request is judged by itself [G7]:
//
//	route              who may call it
//	/webhook           anyone: signatures are verified
//	GET /health        anyone
//	GET /ready         anyone: it asks the store once a second at most
//	/effects           local callers; from anywhere, Pub/Sub with its identity token of Google's
//	/, /console/       those of the last line, and browsers that were shown the token
//	/reconcile, /sweep those of the last line, and commands with the key of this run
//	/resume            the same, for the end of a pause
//	/unperformable     the same, for opledger status
//	POST /operations/  the same, for opledger cancel
//	every other route  callers that send the server's token; without one, local callers
//
// The last line is the default: it holds for routes that are added later, and for those that do not
// exist. The checks, in order:
//
//  1. The Host must be loopback's (localhost, 127.0.0.0/8, ::1), the address that the listener is bound
//     to, or allowed by name, else 403. To a browser a page whose name is rebound to 127.0.0.1 has the same
//     origin as this server; only the name in Host tells them apart.
//  2. A page of another origin gets nothing: 403 by [http.CrossOriginProtection], which is asked about
//     every method as about a POST. A browser sends a simple POST to any address without asking first,
//     and of a GET whose answer no script may read the time and the size still tell something. A link to
//     a page of the console is followed. Every answer forbids browsers to embed it.
//  3. If the server has a token, every caller must send it, a local one too, else 401. If it has none, the
//     caller must be local, else 403.
//
// opledger serve has a token, unless its operator says "none": it is in OPLEDGER_SERVE_TOKEN, or the server
// makes one at its first start. A simulation has none.
//
// A browser shows the token once, in the address of a page of the console, and gets a cookie for those
// pages alone. The cookie does not reveal the token. No script can read it, and no other site has it
// sent (SameSite=Strict). But a browser sends the cookies of a host to all its ports: a server of another
// user of this machine that the operator's browser visits sees the cookie, and could use it for the console.
//
// A command on the ledger's file asks a serve that runs on it. It finds the address, and a key that each
// run makes for itself, in a file beside the ledger that only its owner can read. After a SIGKILL that file
// stays, and any user of the machine may have the port: so the command first sends a nonce to /health,
// and then the key to the one who answers with an HMAC of it. The key dies with its run. A token of the
// environment, which may be another server's, is not sent.
//
// A request is local if all of these hold, because each alone can be forged or arranged:
//
//   - The listener is bound to loopback. On another one, a port forwarder can give every peer a loopback
//     address.
//   - The peer's address is loopback's.
//   - It is not HTTP/1.0, in which proxies forward that add no header: nginx does so by default.
//   - The Host is loopback's, not an allowed one: other machines use that to call this one.
//   - The request has no header that proxies and tunnels add (X-Forwarded-*, Forwarded, Via and the
//     like). A proxy on this machine gives every peer a loopback address, and some rewrite Host.
//
// Some requests look local and are not: those through a tunnel that forwards bytes alone
// (ssh -R, a TCP tunnel) or a proxy that hides itself, and those of another user of this machine. The
// token protects against all of them. A tunnel for Gemini's deliveries should end at a listener of its
// own, which answers /webhook alone.
//
// The server's token is not accepted at /effects from beyond this machine: Pub/Sub cannot send it.
// A push has an identity token of Google's instead [trust.Push]; without an audience and an account
// in the settings, pushes are refused. Tokens are compared in constant time. They are as secret as
// the connection: beyond this machine, use TLS.
package server
