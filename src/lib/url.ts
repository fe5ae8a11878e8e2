/** The path and query of a request. The host is the client's word and may be nonsense, so it is not relied on. */
export function requestUrl(request: Request): URL {
  const whole = URL.parse(request.url)
  if (whole) return whole
  const path = request.url.replace(/^\w+:\/\/[^/?#]*/, '')
  return new URL(path.startsWith('/') ? path : `/${path}`, 'http://headgate.invalid')
}
