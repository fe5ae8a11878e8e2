/** The path and query of a request. The host is the client's word and may be nonsense, so it is not relied on. */
export function parseRequestUrl(request: Request): URL {
  const url = URL.parse(request.url)
  if (url) return url
  const path = request.url.replace(/^\w+:\/\/[^/?#]*/, '')
  return new URL(path.startsWith('/') ? path : `/${path}`, 'http://headgate.invalid')
}
