import { randomUUID } from 'node:crypto'

/** The place of a request in a trace of its client, in the headers of W3C Trace Context. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string
  /** The client's span: 16 hexadecimal digits. */
  spanId: string
  /** `sampledFlag` and `randomFlag`. */
  flags: number
  /** State of other vendors, passed on unchanged. */
  state: string | null
}

export const sampledFlag = 1
/** The trace id is random, so that samplers may decide by its digits. */
export const randomFlag = 2

export const traceHeader = 'traceparent'

/** Null without a valid `traceparent`, which is ignored as the recommendation demands. */
export function readTraceContext(headers: Headers): TraceContext | null {
  const header = headers.get(traceHeader)
  const parent = header === null ? null : parseTraceParent(header)
  return parent && { ...parent, state: parseTraceState(headers.get('tracestate') ?? '') }
}

/** A later version may append fields; those of version 00 keep their meaning. */
const parentPattern =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

export function parseTraceParent(text: string): Omit<TraceContext, 'state'> | null {
  const [, version, traceId, spanId, flags, tail] = parentPattern.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return null
  if (version === '00' && tail !== undefined) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & (sampledFlag | randomFlag) }
}

const maxStateMembers = 32
const maxStateLength = 512
/** Longer members are the first to go when a state is too long. */
const maxMemberLength = 128

const memberPattern = /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

/** Null if it is empty or not valid. Whole members are removed from one that is too long. */
export function parseTraceState(text: string): string | null {
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
  const keys = new Set(members.map((member) => memberPattern.exec(member)?.[1]))
  const isValid = !keys.has(undefined) && keys.size === members.length && keys.size <= maxStateMembers
  return isValid ? shortenState(members).join(',') || null : null
}

function shortenState(members: string[]): string[] {
  if (members.join(',').length <= maxStateLength) return members
  const remaining = members.filter(({ length }) => length <= maxMemberLength)
  while (remaining.join(',').length > maxStateLength) remaining.pop()
  return remaining
}

/** The headers of a request that continues the trace with `spanId` as the parent. */
export function buildTraceHeaders(
  { traceId, flags, state }: Pick<TraceContext, 'traceId' | 'flags' | 'state'>,
  spanId: string,
): Record<string, string> {
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
  return state === null ? { traceparent } : { traceparent, tracestate: state }
}

export function newTraceId(): string {
  return randomUUID().replaceAll('-', '')
}

export function newSpanId(): string {
  return newTraceId().slice(16)
}
