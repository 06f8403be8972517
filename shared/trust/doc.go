// Package trust decides, before a delivery's body is parsed, whether the delivery is genuine and
// what that proves [W1, W2]. It makes no request about a delivery: it holds secrets and keys, and
// fetches them again when they may have changed.
//
// # Two kinds of proof
//
//   - A static webhook signs "{id}.{timestamp}.{body}" with a secret that Gemini gave out once. The
//     signatures are entries "v1,…" in the webhook-signature header. [gemini.Verifier] checks them
//     against every enabled version of the secret [G3]. The proof is bound to the body.
//   - A dynamic webhook (a webhook_config in the request that made the job) has a bare JWT in that
//     header, signed RS256 with one of the keys that Gemini publishes. Gemini documents no claim about
//     the body. So a valid token proves that Gemini sent this receiver a delivery, but not which one:
//     [Proof.Bound] is false, and a holder of the token can send any body, id and timestamp with it
//     until it expires. Such a delivery is unverified until a look-up confirms it.
//
// Where a delivery has both, the static proof is tried first, because it proves more.
//
// A static signature covers one text, which dots divide, and an id may hold dots. An id that ends
// in a dot and a timestamp is refused, and so is the rest of a text that was divided in another
// place. A token without exp is accepted for 25 hours after its iat, and a token without either
// never.
//
// [Push] verifies callers instead of deliveries: the identity token that Google puts into the
// requests of a Pub/Sub push subscription. It proves the subscription's audience and service
// account.
//
// # What an error means
//
//	error                answer  meaning
//	gemini.ErrSignature  401     no proof fits: wrong, missing, malformed and unknown are one error
//	ErrNoAudience        401     an ErrSignature, counted apart: a token, and no audience is set
//	ErrAmbiguous         401     an ErrSignature, counted apart: the signature fits two deliveries
//	ErrUndated           401     an ErrSignature, counted apart: a genuine token without times
//	ErrStale             401     a genuine proof of the wrong time: a late or a replayed delivery
//	ErrOldToken          401     an ErrStale, counted apart: a token without exp, 25 hours old
//	gemini.ErrNoSecret   503     no secret yet: the first deployment comes before the webhook exists
//	ErrUnavailable       503     the secrets or keys cannot be fetched
//
// Gemini redelivers after a 503, for 24 hours. Where one kind of proof does not fit and the other
// could not be checked, the answer is 503, so that nothing is lost. No error holds a secret, a
// token or a key.
//
// # What a forgery can cost
//
// The endpoint is public. A body is read only where the headers do not rule the delivery out.
// Headers beyond 1 KiB of id or 20 KiB of signatures do.
//
// Whatever is sent, an instance fetches its secrets at most once in 30 s and its keys at most once
// in a minute, each for at most 5 s. Concurrent callers wait for the same fetch. A delivery that
// fits known secrets or keys never waits for a fetch that a forgery caused.
//
// A forged static signature costs an HMAC over the body per secret, twice if the secrets changed
// meanwhile. A forged token costs decoding at most 16 KiB, and one RSA verification if it names a
// published key. Memory does not grow with the number of deliveries.
//
// A new secret or key is used from the first delivery that it signed, at the latest one gap later.
// A key that was looked for before it was published is used 5 minutes later. A revoked one is
// refused after the time to live: 5 minutes for secrets, an hour for keys.
//
// # When a source is down
//
// The last values stay in use for an hour past their time to live, and the cause is logged once per
// change. After that the error is ErrUnavailable. One delivery per gap waits for a fetch, the
// others do not. An instance that starts meanwhile has no values, and answers 503 until a fetch
// succeeds.
//
// Of secrets that are fetched again, the well-formed versions are used and the others are logged.
// If none is well-formed, the previous ones stay in use, as if the source were down. At the start
// one malformed version is an error ([Secrets.Load]), which the operator who deploys sees. That
// there is no enabled version takes effect at once: disabling all versions revokes everything.
//
// The numbers in brackets are those of shared/RULES.md.
package trust
