import { listSecrets } from '../../catalog/credential.ts'
import type { HeaderMap } from '../../catalog/provider-auth/scheme.ts'
import type { Relay } from '../../formats/wire-format.ts'
import { type FrameReader, SseError, type SseFrame, SseReader } from '../../platform/http/sse.ts'
import { hasErrorField } from '../../platform/json/error-field.ts'
import { assertJsonBounds } from '../../platform/json/json-bounds.ts'
import { JsonError } from '../../platform/json/json-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ProviderAccess } from '../upstream/access.ts'

/** Shorter values are protocol constants, or placeholders where no key is needed. */
const minSecretLength = 16

/** Headers that the operator declares may hold secrets. Shorter values are switches and versions. */
const minDeclaredLength = 8

/** The secrets of a request, plain and JSON-escaped, as a provider might repeat them. */
export function collectSecrets(
  { credential, provider }: ProviderAccess,
  { authorization = '', ...others }: HeaderMap,
): string[] {
  const secrets = [
    ...listSecrets(credential),
    // A token issued for the credential is as secret, whichever header it is sent in.
    ...(authorization === '' ? [] : [authorization.replace(/^Bearer /, '')]),
    ...Object.values(others).filter(isLong),
    ...Object.values(provider.headers ?? {}).flatMap(listHeaderSecrets),
  ]
  return [...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))]
}

/** A provider may repeat the value, or its token without the scheme (`Bearer`, `Basic`, `Token`), or the password in it. */
function listHeaderSecrets(value: string): string[] {
  const [, scheme = '', token = ''] = /^([A-Za-z][\w-]*) +(\S.*)$/.exec(value.trim()) ?? []
  const login = /^basic$/i.test(scheme) ? Buffer.from(token, 'base64').toString() : ''
  const password = login.slice(login.indexOf(':') + 1)
  return [value, token, login, password].filter(({ length }) => length >= minDeclaredLength)
}

function isLong(secret: string): boolean {
  return secret.length >= minSecretLength
}

/** Replaces every secret with `***`. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '***'), text)
}

/** Redacts text that is still to be parsed: a short secret without digits may equal a field name. */
export function redactUnparsed(text: string, secrets: readonly string[]): string {
  return redactSecrets(
    text,
    secrets.filter((secret) => isLong(secret) || (secret.length >= minDeclaredLength && /\d/.test(secret))),
  )
}

/** Lazy, because few replies contain an error. */
export type SecretSource = () => readonly string[]

/** An error in a reply may quote the key. It is found in `skeleton`: megabytes of base64 need not be searched. */
export function redactReply(text: string, secrets: SecretSource, skeleton = text): string {
  return hasErrorField(skeleton) ? redactUnparsed(text, secrets()) : text
}

/** Redacts the events of a stream and limits the values in each. */
export class RedactedFrames implements FrameReader {
  readonly #frames: FrameReader
  readonly #secrets: SecretSource
  readonly #maxValues: number

  constructor(frames: FrameReader, secrets: SecretSource, maxValues: number) {
    this.#frames = frames
    this.#secrets = secrets
    this.#maxValues = maxValues
  }

  push(bytes: Uint8Array): SseFrame[] {
    return this.#redact(this.#frames.push(bytes))
  }

  /** The text for the client if the relay passes the chunk as a whole; its events otherwise. */
  pushTo(relay: Pick<Relay, 'passWhole'>, bytes: Uint8Array): string | SseFrame[] {
    if (!relay.passWhole || !(this.#frames instanceof SseReader)) return this.push(bytes)
    const text = this.#frames.decode(bytes)
    const passed = this.#frames.isBetweenEvents ? relay.passWhole(text) : null
    return passed ?? this.#redact(this.#frames.split(text))
  }

  end(): SseFrame[] {
    return this.#redact(this.#frames.end())
  }

  #redact(frames: SseFrame[]): SseFrame[] {
    for (const frame of frames) {
      assertBounds(frame.data, this.#maxValues)
      frame.data = redactReply(frame.data, this.#secrets)
    }
    return frames
  }
}

function assertBounds(data: string, maxValues: number): void {
  try {
    assertJsonBounds(data, maxValues)
  } catch (error) {
    throw error instanceof JsonError ? new SseError(`an event of the stream is ${error.message}`) : error
  }
}

/** Identifies an account at a provider: resource names, organizations, projects, keys. */
const accountPatterns: [RegExp, string][] = [
  [/\barn:[\w-]+:[^\s'",]+/g, '***'],
  [/\b(?:org|proj|acct|team|user)[-_](?=[A-Za-z]*\d)[A-Za-z0-9]{8,}/g, '***'],
  [/\borg-[A-Za-z0-9]{10,}/g, '***'],
  // A request id helps the client; any other UUID may identify an account.
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
  return accountPatterns.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), message)
}

/** Limits of one error object: enough for a tool call that failed to parse. */
const maxCharacters = 12_000
const maxTextLength = 8000
const maxEntries = 50
const maxDepth = 6

/** Applies `change` to every string of a provider's error object, and truncates it to the limits. */
export function mapDetail(detail: JsonObject, change: (text: string) => string): JsonObject {
  let remaining = maxCharacters
  const visit = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') {
      const text = change(value.slice(0, Math.min(maxTextLength, remaining)))
      remaining = Math.max(0, remaining - text.length)
      return text
    }
    if (typeof value !== 'object' || value === null) return value
    if (depth === maxDepth || remaining === 0) return null
    if (Array.isArray(value)) return value.slice(0, maxEntries).map((entry) => visit(entry, depth + 1))
    return mapObject(value as JsonObject, depth)
  }
  const mapObject = (value: JsonObject, depth: number): JsonObject => {
    const entries = Object.entries(value).slice(0, maxEntries)
    remaining = Math.max(0, remaining - entries.reduce((sum, [name]) => sum + name.length, 0))
    return Object.fromEntries(
      entries.map(([name, inner]) => [change(name.slice(0, 100)), visit(inner, depth + 1)]),
    )
  }
  return mapObject(detail, 0)
}
