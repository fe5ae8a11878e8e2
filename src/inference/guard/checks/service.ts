import { z } from 'zod'
import { mergeSpans, type Span } from '../../../governance/filters/detector.ts'
import type { FilterDirection } from '../../../governance/policy/effective.ts'
import { asObject, asString, type JsonObject } from '../../../platform/json/json-values.ts'

/** A text for a service. */
export interface CheckedText {
  text: string
  direction: FilterDirection
  /** The name of the check. */
  check: string
  /** Milliseconds since the epoch. */
  sentAt: number
}

/** What a service says about a text, without the text. */
export interface Verdict {
  isFlagged: boolean
  kinds: string[]
  /** What to replace: in order, and without overlaps. Empty if the service does not say where. */
  spans: Span[]
  /** Whether a part of the text is flagged without a place. */
  hasUnplaced?: boolean
}

export interface CheckRequest {
  url: string
  headers: Record<string, string>
  body: string
}

/** Sends a request, and reads its reply as JSON. Throws unless the status is 200. */
export type PostFn = (request: CheckRequest) => Promise<unknown>

/** A kind of service: data, and how its requests and replies look. */
export interface CheckService<Config = Record<string, unknown>> {
  type: string
  /** Its name in the console and in messages. */
  name: string
  config: z.ZodObject
  /** Fields of `config` that are encrypted. */
  secrets: readonly string[]
  /** The field of `config` with its address. */
  address: string
  /** Whether it says what to replace. */
  canRedact: boolean
  /** Characters that it takes in one call. */
  maxCharacters: number
  /** The address that texts and secrets are sent to. */
  target(config: Config): string
  /** What is wrong with fields that are valid each by itself. */
  findProblem?(config: Config): string | undefined
  check(config: Config, text: CheckedText, post: PostFn): Promise<Verdict>
}

/** The definition of a service, with the type of its config. */
export function defineCheckService<S extends z.ZodRawShape>({
  fields,
  ...definition
}: Omit<CheckService<z.output<z.ZodObject<S>>>, 'config'> & { fields: S }): CheckService {
  return { ...definition, config: z.strictObject(fields) } as unknown as CheckService
}

/** The reply of a service is not in its format. */
export class ReplyFormatError extends Error {}

export function requireObject(reply: unknown): JsonObject {
  const object = asObject(reply)
  if (!object) throw new ReplyFormatError('not an object')
  return object
}

export function requireBoolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new ReplyFormatError('not a boolean')
  return value
}

/** The objects of a list; none if it is absent. */
export function listObjects(value: unknown): JsonObject[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new ReplyFormatError('not a list')
  return value.slice(0, maxItems).map(requireObject)
}

/** Bounds what a service can put into records. */
const maxItems = 10_000
const maxKinds = 50
const maxKindLength = 100

export function buildVerdict(
  isFlagged: boolean,
  kinds: readonly unknown[],
  spans: readonly Span[] = [],
): Verdict {
  const names = kinds.flatMap((kind) => asString(kind)?.slice(0, maxKindLength).replaceAll('\0', '') ?? [])
  return { isFlagged, kinds: [...new Set(names)].slice(0, maxKinds), spans: mergeSpans(spans) }
}

/** A span of a text; throws if it is not in the text. */
export function readSpan({ start, end }: JsonObject, length: number, label: string): Span {
  const isValid = Number.isInteger(start) && Number.isInteger(end)
  if (!isValid || Number(start) < 0 || Number(end) > length || Number(start) >= Number(end))
    throw new ReplyFormatError('not a place in the text')
  return { start: Number(start), end: Number(end), label }
}

/** A label from the name of a kind, such as `[EMAIL_ADDRESS]`. */
export function labelOf(kind: unknown): string {
  const name = asString(kind)
    ?.replace(/[^\w-]/g, '_')
    .slice(0, maxKindLength)
  return name ? `[${name}]` : '[REDACTED]'
}

/** An address without the slash at its end. */
export function trimSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
