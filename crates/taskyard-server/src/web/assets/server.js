// The server of this page: the path below which it is found, and what proves to it that a request comes from a page of its own. The proof is in
// the storage of this origin, port included: unlike a cookie no other server of this host ever sees it.

/** What paths begin with: nothing, unless a proxy shows the server below a path. */
export const base = document.documentElement.dataset.base ?? "";

// An origin may have several boards, each below a path.
const NAME = `taskyard-page${base}`;

/** Keeps the secret that a link gave. */
export function keepSecret(secret) {
  localStorage.setItem(NAME, secret);
}

/** Returns the headers that carry the secret, or none if the storage was cleared. */
export function proof() {
  const secret = localStorage.getItem(NAME);
  return secret ? { "taskyard-page": secret } : {};
}

/** Forgets the secret. */
export function forgetSecret() {
  localStorage.removeItem(NAME);
}
