// Package trust decides for each delivery, before anything is parsed, whether to believe it, and how far [W1, W2]. It
// asks no one else about a delivery: it holds secrets and keys, and fetches them again when they may have changed.
//
// # Two kinds of proof
//
//   - A static webhook signs "{id}.{timestamp}.{body}" with a secret that Gemini gave out once: entries "v1,…" in the
//     webhook-signature header, checked by [gemini.Verifier] against every enabled version of the secret [G3]. The
//     proof is bound to the body: what the body says may be believed.
//   - A dynamic webhook (a webhook_config in the request that made the job) has a bare JWT in that header, signed
//     RS256 with one of the keys that Gemini publishes. Gemini documents no claim about the body. So a valid token
//     says "Gemini sends this receiver something", and nothing about what: [Proof.Bound] is false, and a caller who
//     holds a token that has not expired can send any body, id and timestamp with it. Such a delivery is a hint, to
//     be confirmed by a look-up.
//
// Where both are present the static one is tried first, because it proves more.
//
// What a static signature covers is one text, and what divides it are dots. An id may hold dots;
// one that ends in a dot and a timestamp is refused, and so is what is left where such a text was
// divided in another place. A token without exp is believed for 25 hours after its iat, and without
// either never.
//
// [Push] is a third kind, of callers and not of deliveries: the identity token that Google puts into what a Pub/Sub
// subscription pushes. It proves who sends, the subscription with that audience and service account.
//
// # What an error means
//
//	error                     answer  meaning
//	gemini.ErrSignature       401     nothing fits: wrong, missing, malformed and unknown are one error
//	ErrNoAudience             401     an ErrSignature, to be counted apart: a token came, and none are accepted
//	ErrAmbiguous              401     the same of a genuine signature that fits another delivery, too
//	ErrUndated                401     the same of a genuine token that says nothing of its time
//	ErrStale                  401     a genuine proof whose time is off: a late delivery, or a replayed one
//	ErrOldToken               401     an ErrStale, to be counted apart: a token without exp, 25 hours old
//	gemini.ErrNoSecret        503     no secret yet: the first deployment comes before the webhook exists
//	ErrUnavailable            503     the secrets or keys cannot be had, so that the delivery cannot be judged
//
// A 503 is delivered again by Gemini, for 24 hours; where one kind of proof does not fit and the other could not be
// checked, the answer is 503, so that nothing is lost. An error holds nothing of a secret, a token or a key.
//
// # What a forger can cost
//
// Anybody may call. A body is read only where the headers leave the decision to it, and headers
// beyond 1 KiB of id or 20 KiB of signatures are refused for that. Whatever is called, and however
// often, an instance asks for its secrets at most once in 30 seconds and
// for its keys at most once in a minute, each for at most 5 seconds, and calls that come meanwhile wait for the same
// answer. A call that fits what is known never waits for a forger's. Beyond that, a forged static signature costs an
// HMAC over the body per secret, twice if the secrets changed meanwhile; a forged token costs decoding at most 16
// KiB, and one RSA verification if it names a published key. Memory does not grow with the number of calls.
//
// A new secret or key is used from the first delivery that shows it, at the latest one gap later; a key that was
// looked for before it was published, 5 minutes later. A revoked one is refused from the end of the time to live: 5
// minutes for secrets, an hour for keys.
//
// # When a source is down
//
// What was fetched last stays in use for an hour past its time to live, and why it could not be renewed is logged
// once per change; then the error is ErrUnavailable. One delivery per gap waits for the attempt, the others do not.
// An instance that starts meanwhile has nothing, and answers 503 until an attempt succeeds.
//
// Of secrets read again, the well-formed versions count and the others are logged; if none is well-formed, those
// known before stay in use as if the source were down. At the start, one malformed version is an error
// ([Secrets.Load]): it is a mistake of the operator who deploys and should see it. No enabled version at all is
// believed at once, also where there were some before: that is how a person revokes everything.
//
// The numbers in brackets are those of shared/RULES.md.
package trust
