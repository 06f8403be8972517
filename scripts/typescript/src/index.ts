/**
 * A client of opledger: submit an operation to Gemini once, wait until it ends, read its results.
 *
 * submitOnce does the same for one operation that your own call creates at Gemini. Verifier and Inbox are for those who
 * receive effects. It needs Node 20.3, nothing else.
 *
 * A file, or any iterable, of requests needs no call of Gemini:
 *
 * @example
 * const client = new Opledger(); // OPLEDGER_URL, or serve on this machine
 * const rows = [["a", "Hello"], ["b", "Goodbye"]] as const;
 * const job = await client.jobs.submit("doc-nightly", rows, { model: "gemini-3.5-flash" });
 * await client.jobs.wait(job.id);
 * const texts = new Map<string, string>();
 * for await (const { key, text } of client.jobs.results(job.id)) texts.set(key, text);
 * console.log(texts.size); // 2
 */

export type { CallOptions } from "./calls.js";
export { checkRequests } from "./check.js";
export { Opledger, type ClientOptions } from "./client.js";
export type { Contents } from "./contents.js";
export {
  AccessError, AnsweredError, CompletionError, ConflictError, NotFoundError, NotSentError, NotSettledError,
  OpledgerError, RefusedError, ResultsError, SignatureError, SubmitError, UnavailableError,
  type ErrorDetails, type SubmitDetails, type SubmitOutcome,
} from "./errors.js";
export { googleToken, type GoogleAuthLike } from "./google.js";
export { Inbox } from "./inbox.js";
export {
  Jobs, type JobLimits, type JobOptions, type JobRedriveOptions, type JobSubmitOptions, type Tolerance,
} from "./jobs.js";
export type { Json } from "./json.js";
export { Mark } from "./mark.js";
export {
  Job, Operation,
  type Collection, type Completion, type JobProgress, type OperationResult, type Outcome, type State, type Submitted,
} from "./model.js";
export type { ChangesOptions, Decision, OperationFilters } from "./operations.js";
export { request, type Request, type RequestLine, type Requests } from "./requests.js";
export { Result, type Usage } from "./result.js";
export type { JobResultsOptions, Kind, ResultsOptions } from "./results.js";
export type { Created, RegisterOptions, Submission, SubmitOptions } from "./submit.js";
export type { Environment } from "./time.js";
export { checkedUrl, type Token } from "./transport.js";
export { Verifier, type RequestHeaders } from "./webhook.js";
