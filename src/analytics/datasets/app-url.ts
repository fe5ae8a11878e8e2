import { trimEnd } from '../../platform/text/trim-end.ts'

/** Apps on the developer's machine: they have no address of their own. */
const localHost = /^(?:localhost|.*\.localhost|.*\.local|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/

/**
 * The address that identifies an app: host and path, without scheme, query and trailing slash. Null for what is no web
 * address, and for local ones.
 */
export function normalizeAppUrl(text: string | null): string | null {
  if (text === null || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return null
  const { host, hostname, pathname } = new URL(text)
  return localHost.test(hostname) ? null : `${host}${trimEnd(pathname, '/')}`
}
