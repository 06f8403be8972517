/** Tokens of Google's, by the package google-auth-library, which the caller brings. */

import { fields } from "./json.js";

/** What googleToken needs of GoogleAuth of google-auth-library. */
export interface GoogleAuthLike {
  getAccessToken(): Promise<string | null | undefined>;
  getIdTokenClient(audience: string): Promise<{ getRequestHeaders(): Promise<object> }>;
}

/**
 * Returns a function that returns a valid token of Google's, for the token of a client:
 * `new Opledger(url, { token: googleToken(new GoogleAuth(), url) })`.
 *
 * @param auth a GoogleAuth; for Cloud Storage with the scope devstorage.read_write
 * @param audience the URL of Register, for an identity token; empty: an access token, such as for Cloud Storage
 *
 * @example
 * const auth = { getAccessToken: async () => "ya29.a", getIdTokenClient: () => Promise.reject(new Error("not here")) };
 * const client = new Opledger("", { storage: "gs://bucket/jobs", storageToken: googleToken(auth) });
 * console.log(client.jobs instanceof Jobs); // true
 */
export function googleToken(auth: GoogleAuthLike, audience = ""): () => Promise<string> {
  let client: ReturnType<GoogleAuthLike["getIdTokenClient"]> | undefined;
  return async () => {
    if (!audience) return (await auth.getAccessToken()) ?? "";
    client ??= auth.getIdTokenClient(audience);
    try {
      return tokenIn(await (await client).getRequestHeaders());
    } catch (error) {
      client = undefined; // the credentials may be there later
      throw error;
    }
  };
}

/** Returns the token of headers, which version 9 of the library has as an object and version 10 as Headers. */
function tokenIn(headers: object): string {
  const sent = headers instanceof Headers ? headers.get("Authorization") : fields(headers).Authorization;
  return String(sent ?? "").replace(/^Bearer /, "");
}
