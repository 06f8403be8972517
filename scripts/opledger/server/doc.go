// Package server runs the four functions in one process, over any store.
//
// # Who may reach what
//
// Deployed, IAM stands before every function but the webhook. Here nothing does, and the process runs
// where browsers, proxies and tunnels bring it requests from anywhere. Each request is judged by itself
// [G7]:
//
//	route              who may call it
//	/webhook           anyone: signatures are verified
//	GET /health        anyone
//	/effects           a local caller; from anywhere, Pub/Sub with the token that Google makes for it
//	everything else    a local caller; from anywhere, one that shows OPLEDGER_SERVE_TOKEN
//
// "Everything else" is the default: a route that is added later is behind it without a word, and so is
// what is not there. The checks, in their order:
//
//  1. The Host must be loopback's (localhost, 127.0.0.0/8, ::1) or allowed by name, else 403. A page
//     whose name is rebound to 127.0.0.1 is of one origin with this server for the browser; the name in
//     Host is all that tells.
//  2. A page of another origin must not change anything: 403 by [http.CrossOriginProtection]. A browser
//     sends a simple POST to any address without asking first. GET, HEAD and OPTIONS pass, so they must
//     change nothing; no header lets another origin read an answer.
//  3. Where a token is set every caller shows it, also a local one, else 401. Where none is set the
//     caller must be local, else 403.
//
// A request is local if all of these hold, because each of them alone can be made to:
//
//   - the listener is bound to loopback. Of one that is not, a port forwarder can make every peer
//     loopback's.
//   - the peer's address is loopback's.
//   - the Host is loopback's, not one that was allowed: that is how others call this machine.
//   - no header is there that proxies and tunnels add (X-Forwarded-*, Forwarded, Via and their like). A
//     proxy on this machine makes every peer loopback's, and some rewrite Host.
//
// Two things cannot be told from a local request: a tunnel that passes bytes on and nothing of its own
// (ssh -R, a TCP tunnel), and another user of this machine. Against both there is the token. A tunnel
// for Gemini's deliveries should end at a listener of its own, which answers /webhook alone.
//
// At /effects from beyond this machine the server's token is not taken: Pub/Sub cannot send it. A push
// shows an identity token of Google's [trust.Push]; without an audience and an account in the settings
// it is refused. Tokens are compared in constant time. They are as secret as the connection: beyond this
// machine, put TLS in front.
package server
