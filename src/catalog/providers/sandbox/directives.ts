import {
  type FailureKind,
  failureKindForStatus,
  type UpstreamFailure,
} from '../../../formats/call/failure.ts'

/** Instructions to the sandbox in a message, such as `sandbox:slow=200`. */
export interface Directives {
  /** Fail before the first content. */
  error?: { kind: FailureKind; status: number }
  retryAfterMs?: number
  /** End the stream after so many deltas, without an error. */
  breakAfter?: number
  /** Fail after so many deltas, with an error inside the stream. */
  failAfter?: number
  /** Milliseconds between deltas. */
  deltaDelayMs?: number
  /** Milliseconds before the first event. */
  startDelayMs?: number
  /** Reply with so many words. */
  wordCount?: number
  /** Call tools in so many rounds before replying. */
  rounds?: number
  noUsage?: true
  empty?: true
  cached?: true
  refuse?: true
  filter?: true
  cite?: true
  signed?: true
}

const maxWaitMs = 600_000
const maxWords = 200_000

type DirectiveReader = (value: string | undefined) => Directives | undefined

const directiveReaders: ReadonlyMap<string, DirectiveReader> = new Map<string, DirectiveReader>([
  ['error', readErrorDirective],
  ['retry-after', createCountReader(3600, (seconds) => ({ retryAfterMs: seconds * 1000 }))],
  ['break', createCountReader(maxWords, (breakAfter) => ({ breakAfter }))],
  ['fail', createCountReader(maxWords, (failAfter) => ({ failAfter }))],
  ['slow', createCountReader(maxWaitMs, (deltaDelayMs) => ({ deltaDelayMs }))],
  ['quiet', createCountReader(maxWaitMs, (startDelayMs) => ({ startDelayMs }))],
  ['length', createCountReader(maxWords, (wordCount) => ({ wordCount }))],
  ['rounds', createCountReader(100, (rounds) => ({ rounds }))],
  ['no-usage', createFlagReader({ noUsage: true })],
  ['empty', createFlagReader({ empty: true })],
  ['cached', createFlagReader({ cached: true })],
  ['refuse', createFlagReader({ refuse: true })],
  ['filter', createFlagReader({ filter: true })],
  ['cite', createFlagReader({ cite: true })],
  ['signed', createFlagReader({ signed: true })],
])

export const directiveNames: readonly string[] = [...directiveReaders.keys()]

const directivePattern = /(?<![\w/:-])sandbox:([a-z]+(?:-[a-z]+)*)(?:=(\w+))?[ \t]?/g

/** The directives in a text, and the text without them. Unknown directives stay in the text. */
export function readDirectives(text: string): { directives: Directives; rest: string } {
  const directives: Directives = {}
  let hasDirectives = false
  const rest = text.replace(directivePattern, (match, name: string, value: string | undefined) => {
    const read = directiveReaders.get(name)?.(value)
    if (!read) return match
    hasDirectives = true
    Object.assign(directives, read)
    return ''
  })
  return { directives, rest: hasDirectives ? rest.trim() : text }
}

export function buildFailure({ error, retryAfterMs }: Directives): UpstreamFailure | undefined {
  if (!error) return undefined
  const failure: UpstreamFailure = {
    ...error,
    message: `The sandbox was directed to fail with ${error.kind}.`,
    code: `sandbox_${error.kind}`,
  }
  if (retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs
  return failure
}

/** The status a vendor would send with a failure of this kind. */
const statusByKind: Record<FailureKind, number> = {
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

function readErrorDirective(value = ''): Directives | undefined {
  const kind = (Object.keys(statusByKind) as FailureKind[]).find((name) => name === value)
  if (kind) return { error: { kind, status: statusByKind[kind] } }
  if (!/^[45]\d\d$/.test(value)) return undefined
  const status = Number(value)
  return { error: { kind: failureKindForStatus(status), status } }
}

function createCountReader(max: number, toDirectives: (value: number) => Directives): DirectiveReader {
  return (value = '') => (/^\d{1,9}$/.test(value) ? toDirectives(Math.min(Number(value), max)) : undefined)
}

function createFlagReader(directives: Directives): DirectiveReader {
  return (value) => (value === undefined ? directives : undefined)
}
