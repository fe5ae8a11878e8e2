/** The address of the API, with the path prefix of a proxy, if there is one: the page has a `base` element. */
export function apiUrl(): string {
  return new URL('api/v1', document.baseURI).href
}
