import { listSecrets } from '../../catalogue/credential.ts'
import { assertContainerLimit } from '../../lib/json.ts'
import { JsonError } from '../../lib/json-error.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { type FrameReader, SseError, type SseFrame } from '../../lib/sse.ts'
import type { HeaderMap } from '../../sign-in/scheme.ts'
import type { UpstreamAccess } from './access.ts'

/** Shorter values are words of a protocol, or stand for a key where none is needed. */
const minSecretLength = 16

/** What a provider was signed in with, in every way it could say it again. */
export function collectSecrets(
  { credential, endpoint }: UpstreamAccess,
  { authorization = '' }: HeaderMap,
): string[] {
  const secrets = [
    ...listSecrets(credential),
    // What was given in exchange for a credential is as secret.
    ...(authorization === '' ? [] : [authorization.replace(/^Bearer /, '')]),
    ...Object.values(endpoint.provider.headers ?? {}).filter(isLong),
  ]
  return [...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))]
}

function isLong(secret: string): boolean {
  return secret.length >= minSecretLength
}

/** A provider's words without what it was signed in with. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((words, secret) => words.replaceAll(secret, '***'), text)
}

/** In a text that is still to be read: a short one may be the name of a field. */
export function redactLongSecrets(text: string, secrets: readonly string[]): string {
  return redactSecrets(text, secrets.filter(isLong))
}

/** An error that is there, and not the null that says that there is none. */
const errorField = /"error"\s*(?::\s*[{["]|[,}])/

/** Told only to who needs to know them: hardly any reply is about an error. */
export type SecretSource = () => readonly string[]

/** A reply that says what went wrong may say it with the key. */
export function redactReply(text: string, secrets: SecretSource): string {
  // Nearly every event of every stream passes here, and a search for a word is cheaper than one for a pattern.
  if (!text.includes('"error"') || !errorField.test(text)) return text
  return redactLongSecrets(text, secrets())
}

/** Shorter events cannot hold enough to matter. */
const largeFrameLength = 256 * 1024

/** The same of a stream, whose events are made of no more objects and lists than given. */
export function redactFrames(
  frames: FrameReader,
  secrets: SecretSource,
  mostContainers: number,
): FrameReader {
  const each = (list: SseFrame[]): SseFrame[] => {
    for (const frame of list) {
      if (frame.data.length > largeFrameLength) assertStructure(frame.data, mostContainers)
      frame.data = redactReply(frame.data, secrets)
    }
    return list
  }
  return { push: (bytes) => each(frames.push(bytes)), end: () => each(frames.end()) }
}

function assertStructure(data: string, mostContainers: number): void {
  try {
    assertContainerLimit(data, mostContainers)
  } catch (error) {
    throw error instanceof JsonError ? new SseError(`an event of the stream is ${error.message}`) : error
  }
}

/** What tells whose account it is at a provider: names of resources, of organizations and projects, keys. */
const accountPatterns: [RegExp, string][] = [
  [/\barn:[\w-]+:[^\s'",]+/g, '***'],
  [/\b(?:org|proj|acct|team|user)[-_](?=[A-Za-z]*\d)[A-Za-z0-9]{8,}/g, '***'],
  [/\borg-[A-Za-z0-9]{10,}/g, '***'],
  // The id of a request helps its client; any other may be that of an account.
  [
    /(?<!request[ _-]?id["': (=]{0,4})\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
    '***',
  ],
  [/\bprojects\/[\w.:-]+/g, 'projects/***'],
  [/\b(project|account|organization|tenant)([ =:#]+)(?=[\w-]*\d)[\w-]{6,}/gi, '$1$2***'],
  [/\b\d{12}\b/g, '***'],
  [/\/subscriptions\/[\w-]+/gi, '/subscriptions/***'],
  [/\b[\w-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.com\b/gi, '***'],
  [/[\w.+-]+@[\w-]+\.[\w.-]*\w/g, '***'],
  [/\b(?:sk|gsk|xai|pk|rk)[-_][\w*-]{8,}/g, '***'],
  [/\bAIza[\w-]{20,}/g, '***'],
]

export function redactAccounts(message: string): string {
  return accountPatterns.reduce((text, [pattern, word]) => text.replace(pattern, word), message)
}

/** Of one error object: enough for a tool call that failed to parse, not for a page. */
const maxCharacters = 12_000
const maxTextLength = 8000
const maxEntries = 50
const maxDepth = 6

/** A provider's error object with every text in it changed, and none of it at any length. */
export function mapDetail(detail: JsonObject, change: (text: string) => string): JsonObject {
  let left = maxCharacters
  const visit = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') {
      const text = change(value.slice(0, Math.min(maxTextLength, left)))
      left = Math.max(0, left - text.length)
      return text
    }
    if (typeof value !== 'object' || value === null) return value
    if (depth === maxDepth || left === 0) return null
    if (Array.isArray(value)) return value.slice(0, maxEntries).map((entry) => visit(entry, depth + 1))
    return object(value as JsonObject, depth)
  }
  const object = (value: JsonObject, depth: number): JsonObject => {
    const kept = Object.entries(value).slice(0, maxEntries)
    left = Math.max(0, left - kept.reduce((sum, [name]) => sum + name.length, 0))
    return Object.fromEntries(
      kept.map(([name, inner]) => [change(name.slice(0, 100)), visit(inner, depth + 1)]),
    )
  }
  return object(detail, 0)
}
