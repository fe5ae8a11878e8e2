import { trimEnd } from '../../platform/text/trim-end.ts'

/** A domain with its subdomains (`example.com`), subdomains alone (`*.example.com`), or a path (`example.com/blog`). */
export interface DomainRule {
  /** The host in ASCII, without the wildcard. */
  host: string
  /** Whether only subdomains of the host match. */
  isWildcard: boolean
  /** The path without the slash at the end; empty: every path. */
  path: string
}

const rulePattern = /^(\*\.)?([^\s/?#@:*[\]]+)(\/[^\s?#*]*)?$/
export const domainForms = 'must be a domain such as example.com, *.example.com or example.com/path'

/** Parses a rule; null if the text is not one. */
export function parseDomainRule(text: string): DomainRule | null {
  const [, wildcard, name = '', path = ''] = rulePattern.exec(text.trim()) ?? []
  const url = name === '' ? null : URL.parse(`https://${name}${path}`)
  if (url === null || !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/.test(url.hostname)) return null
  return {
    host: url.hostname.replace(/\.$/, ''),
    isWildcard: wildcard !== undefined,
    path: trimEnd(url.pathname, '/'),
  }
}

export function formatDomainRule({ host, isWildcard, path }: DomainRule): string {
  return `${isWildcard ? '*.' : ''}${host}${path}`
}

export function matchesDomain({ host, isWildcard, path }: DomainRule, url: URL): boolean {
  const name = url.hostname.replace(/\.$/, '')
  const isHost = name.endsWith(`.${host}`) || (!isWildcard && name === host)
  return isHost && (path === '' || url.pathname === path || url.pathname.startsWith(`${path}/`))
}

/** Finds the list that forbids reading or showing a URL; null if neither does. */
export function findDomainBlock(
  url: URL,
  allowed: readonly DomainRule[],
  blocked: readonly DomainRule[],
): 'allowed' | 'blocked' | null {
  if (allowed.length > 0 && !allowed.some((rule) => matchesDomain(rule, url))) return 'allowed'
  return blocked.some((rule) => matchesDomain(rule, url)) ? 'blocked' : null
}
