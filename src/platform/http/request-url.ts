/** The path and query of a request. The Host header may be invalid, so the host is not used. */
export function parseRequestUrl(request: Request): URL {
  const url = URL.parse(request.url)
  if (url) return url
  const path = request.url.replace(/^\w+:\/\/[^/?#]*/, '')
  return new URL(path.startsWith('/') ? path : `/${path}`, 'http://headgate.invalid')
}
