import { type FailureKind, kindOfStatus, type UpstreamFailure } from '../../call/failure.ts'

/** What a message tells the sandbox to do, with words such as `sandbox:slow=200`. */
export interface Directives {
  /** Fail before the first content. */
  error?: { kind: FailureKind; status: number }
  retryAfterMs?: number
  /** Break off after so many deltas, without a word. */
  breakAfter?: number
  /** Fail after so many deltas, with an error inside the stream. */
  failAfter?: number
  /** Milliseconds between deltas. */
  slow?: number
  /** Milliseconds before the first event. */
  quiet?: number
  /** Answer with so many words. */
  length?: number
  /** Call tools in so many rounds before answering. */
  rounds?: number
  noUsage?: true
  empty?: true
  cached?: true
  refuse?: true
  filter?: true
  cite?: true
  signed?: true
}

const longestWait = 600_000
const mostWords = 200_000

type Read = (value: string | undefined) => Directives | undefined

const table: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['error', readError],
  ['retry-after', count(3600, (seconds) => ({ retryAfterMs: seconds * 1000 }))],
  ['break', count(mostWords, (breakAfter) => ({ breakAfter }))],
  ['fail', count(mostWords, (failAfter) => ({ failAfter }))],
  ['slow', count(longestWait, (slow) => ({ slow }))],
  ['quiet', count(longestWait, (quiet) => ({ quiet }))],
  ['length', count(mostWords, (length) => ({ length }))],
  ['rounds', count(100, (rounds) => ({ rounds }))],
  ['no-usage', flag({ noUsage: true })],
  ['empty', flag({ empty: true })],
  ['cached', flag({ cached: true })],
  ['refuse', flag({ refuse: true })],
  ['filter', flag({ filter: true })],
  ['cite', flag({ cite: true })],
  ['signed', flag({ signed: true })],
])

export const directiveNames: readonly string[] = [...table.keys()]

const pattern = /(?<![\w/:-])sandbox:([a-z]+(?:-[a-z]+)*)(?:=(\w+))?[ \t]?/g

/** The directives in a text, and the text without them. A word that is none stays where it is. */
export function readDirectives(text: string): { directives: Directives; rest: string } {
  const directives: Directives = {}
  let found = false
  const rest = text.replace(pattern, (whole, name: string, value: string | undefined) => {
    const read = table.get(name)?.(value)
    if (!read) return whole
    found = true
    Object.assign(directives, read)
    return ''
  })
  return { directives, rest: found ? rest.trim() : text }
}

export function failureOf({ error, retryAfterMs }: Directives): UpstreamFailure | undefined {
  if (!error) return undefined
  const failure: UpstreamFailure = {
    ...error,
    message: `The sandbox was asked to fail with ${error.kind}.`,
    code: `sandbox_${error.kind}`,
  }
  if (retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs
  return failure
}

/** The status a vendor would send with a failure of this kind. */
const statuses: Record<FailureKind, number> = {
  context_length_exceeded: 400,
  max_tokens_exceeded: 400,
  authentication: 401,
  permission_denied: 403,
  payment_required: 402,
  rate_limit_exceeded: 429,
  provider_overloaded: 529,
  provider_unavailable: 502,
  invalid_request: 400,
  not_found: 404,
  payload_too_large: 413,
  unprocessable: 422,
  content_policy_violation: 403,
  refusal: 400,
  server: 500,
  timeout: 504,
}

function readError(value = ''): Directives | undefined {
  const kind = (Object.keys(statuses) as FailureKind[]).find((name) => name === value)
  if (kind) return { error: { kind, status: statuses[kind] } }
  if (!/^[45]\d\d$/.test(value)) return undefined
  const status = Number(value)
  return { error: { kind: kindOfStatus(status), status } }
}

function count(most: number, make: (value: number) => Directives): Read {
  return (value = '') => (/^\d{1,9}$/.test(value) ? make(Math.min(Number(value), most)) : undefined)
}

function flag(directives: Directives): Read {
  return (value) => (value === undefined ? directives : undefined)
}
