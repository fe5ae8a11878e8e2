import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { PassthroughRule } from './settings.ts'

const maxPathLength = 2048

/** What a segment may not have once it is decoded: another separator, a second encoding, or a control character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const forbiddenCharacters = /[/\\%\x00-\x1f\x7f]/

/** The path after the name of the provider, each segment encoded in one way: rules match what is sent. */
export function normalizePath(pathname: string, provider: string): string {
  const prefix = `/passthrough/${encodeURIComponent(provider)}/`
  const rest = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : ''
  if (rest === '') throw invalidPathError('must name an operation of the provider')
  if (rest.length > maxPathLength) throw invalidPathError(`must be at most ${maxPathLength} characters`)
  return rest
    .split('/')
    .map((segment) => `/${normalizeSegment(segment)}`)
    .join('')
}

function normalizeSegment(segment: string): string {
  const decoded = decodeSegment(segment)
  if (decoded === '' || decoded === '.' || decoded === '..' || forbiddenCharacters.test(decoded))
    throw invalidPathError('must not have empty or dot segments, or encoded slashes')
  return encodeURIComponent(decoded).replace(/%(?:3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent)
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalidPathError('is not valid percent-encoded UTF-8')
  }
}

function invalidPathError(problem: string) {
  return invalidFieldError('path', problem)
}

/** SDKs differ in whether the base URL they are given has the version: both forms are the same operation. */
export function removeBasePath(path: string, baseUrl: string): string {
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '')
  return base !== '' && path.startsWith(`${base}/`) ? path.slice(base.length) : path
}

/** Parameters in which some providers accept a key: the credential is the gateway's alone. */
const keyParameters: ReadonlySet<string> = new Set(['key', 'api_key', 'api-key', 'access_token'])

/** The query as it was sent, with its question mark, without keys. */
export function removeKeys(search: string): string {
  const others = search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !keyParameters.has(nameOf(pair)))
  return others.length === 0 ? '' : `?${others.join('&')}`
}

function nameOf(pair: string): string {
  const [name = ''] = new URLSearchParams(pair).keys()
  return name.toLowerCase()
}

const patterns = new Map<string, RegExp>()
/** More than the settings can have. */
const maxPatterns = 50_000

export function matchesPath({ paths }: Pick<PassthroughRule, 'paths'>, path: string): boolean {
  return paths.some((pattern) => compilePattern(pattern).test(path))
}

function compilePattern(pattern: string): RegExp {
  const known = patterns.get(pattern)
  if (known) return known
  const isTree = pattern.endsWith('/**')
  const source = (isTree ? pattern.slice(0, -3) : pattern)
    .split('*')
    .map((text) => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    .join('[^/]*')
  const compiled = new RegExp(`^${source}${isTree ? '(?:/.*)?' : ''}$`)
  if (patterns.size >= maxPatterns) patterns.clear()
  patterns.set(pattern, compiled)
  return compiled
}
