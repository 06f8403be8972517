/** Tokens of Google's, by the package google-auth-library, which the caller brings. */

import { AccessError, said } from "./errors.js";
import { fields } from "./json.js";

/** What googleToken needs of GoogleAuth of google-auth-library. */
export interface GoogleAuthLike {
  getAccessToken(): Promise<string | null | undefined>;
  getIdTokenClient(audience: string): Promise<{ getRequestHeaders(): Promise<object> }>;
}

// What google-auth-library says where no later attempt can have a token.
const NO_CREDENTIALS =
  /^(Could not load the default credentials|Unable to read the credential file|Cannot fetch ID token in this)/;

/**
 * Returns a function that returns a valid token of Google's, for the token of a client:
 * `new Opledger(url, { token: googleToken(new GoogleAuth(), url) })`.
 *
 * @param auth a GoogleAuth; for Cloud Storage with the scope devstorage.read_write
 * @param audience the URL of Register, for an identity token; empty: an access token, such as for Cloud Storage
 * @throws AccessError, by the function, where there are no credentials of Google
 *
 * @example
 * const auth = { getAccessToken: async () => "ya29.a", getIdTokenClient: () => Promise.reject(new Error("not here")) };
 * const client = new Opledger("", { storage: "gs://bucket/jobs", storageToken: googleToken(auth) });
 * console.log(client.jobs instanceof Jobs); // true
 */
export function googleToken(auth: GoogleAuthLike, audience = ""): () => Promise<string> {
  let client: ReturnType<GoogleAuthLike["getIdTokenClient"]> | undefined;
  return async () => {
    try {
      if (!audience) return (await auth.getAccessToken()) ?? "";
      client ??= auth.getIdTokenClient(audience);
      return tokenIn(await (await client).getRequestHeaders());
    } catch (error) {
      client = undefined; // the credentials may be there later
      if (!NO_CREDENTIALS.test(said(error))) throw error;
      const remedy = "give the program credentials of Google, such as a service account";
      throw new AccessError(said(error), { remedy, cause: error });
    }
  };
}

/** Returns the token of headers, which version 9 of the library has as an object and version 10 as Headers. */
function tokenIn(headers: object): string {
  const sent = headers instanceof Headers ? headers.get("Authorization") : fields(headers).Authorization;
  return String(sent ?? "").replace(/^Bearer /, "");
}
