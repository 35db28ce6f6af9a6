// What proves to the server that a request comes from a page of its own. It is in the storage of this origin, port included: unlike a cookie no
// other server of this host ever sees it.

const NAME = "taskyard-page";

/** Keeps the secret that a link gave. */
export function keepSecret(secret) {
  localStorage.setItem(NAME, secret);
}

/** Returns the headers that prove it; none where the storage was emptied. */
export function proof() {
  const secret = localStorage.getItem(NAME);
  return secret ? { "taskyard-page": secret } : {};
}

/** Forgets the secret. */
export function forgetSecret() {
  localStorage.removeItem(NAME);
}
