import type { IoLogging } from '../account/workspaces.ts'
import type { DataRegion } from '../catalog/vocabulary.ts'
import type { Statement } from '../db/batch.ts'
import type { GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { contentStatement } from '../ledger/contents.ts'
import { type JsonObject, objectOf, textOf } from '../lib/loose.ts'
import type { Asked } from './asked.ts'
import { type FailedAttempt, statusOf, toClientError } from './failure.ts'
import { mostCharacters, type Transcript } from './transcript.ts'

/** How a request went, as far as its content is concerned. */
export interface Told {
  /** Null where nothing is kept. */
  transcript: Transcript | null
  /** What the client was told instead of an answer, or in the middle of it. */
  error: GatewayError | null
  attempts: readonly FailedAttempt[]
}

/**
 * Whether what is asked and answered is kept: where the workspace wants it, and never on a regional host.
 * The id decides which requests a sampling rate picks, so that there is one answer for each.
 */
export function keepsContent(
  logging: IoLogging | null,
  { id, keyId, region }: { id: string; keyId: number; region: DataRegion },
): boolean {
  if (!logging || region !== 'global') return false
  if (logging.keyIds && !logging.keyIds.has(keyId)) return false
  return Number.parseInt(id.slice(-8), 16) < logging.samplingRate * 2 ** 32
}

/** Written together with the charge. What goes along with a charge must never cost us the charge. */
export function contentStatements(gateway: Gateway, asked: Asked, told: Told): Statement[] {
  if (!told.transcript) return []
  try {
    const { caller, id, at } = asked
    const owner = {
      generationId: id,
      organizationId: caller.organizationId,
      workspaceId: caller.key.workspace_id,
      createdAt: new Date(at).toISOString(),
    }
    const content = contentOf(asked, told, told.transcript)
    return [contentStatement(gateway.db, gateway.vault, owner, content)]
  } catch (err) {
    gateway.log.warn({ err, id: asked.id }, 'the content of a generation could not be kept')
    return []
  }
}

function contentOf({ body, call }: Asked, { error, attempts }: Told, transcript: Transcript): JsonObject {
  const clip = new Clip()
  const said = transcript.said()
  return {
    input: inputOf(body, clip),
    // Not shown to the client, not kept either.
    output: call.reasoning?.exclude ? { ...said, reasoning: null } : said,
    error: error && errorOf(error, attempts),
    truncated: clip.truncated || transcript.truncated,
  }
}

/** Where the formats have what is said, and what stands above it. */
const saidFields = ['messages', 'input', 'contents']
const instructionFields = ['system', 'instructions', 'systemInstruction', 'system_instruction']

/** In the words of the client, the newest first to be kept. */
function inputOf(body: JsonObject, clip: Clip): JsonObject {
  const said = firstOf(body, saidFields)
  if (said === undefined) return { prompt: textOf(clip.of(promptOf(body.prompt))) ?? '' }
  const instructions = firstOf(body, instructionFields)
  const messages = [
    ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
    ...(Array.isArray(said) ? said : [{ role: 'user', content: said }]),
  ]
  return { messages: clip.list(messages.reverse()).reverse() }
}

function firstOf(body: JsonObject, names: string[]): unknown {
  return names.map((name) => body[name]).find((value) => value !== undefined && value !== null)
}

function promptOf(prompt: unknown): unknown {
  return Array.isArray(prompt) ? prompt[0] : prompt
}

/** Only what the client may know: what a provider says about our account there is for the operator's eyes. */
function errorOf(error: GatewayError, attempts: readonly FailedAttempt[]): JsonObject {
  const { message, row, metadata, cause } = error
  return {
    message: row.status === 500 ? row.message : message,
    status: row.status,
    provider_name: textOf(metadata.provider_name) ?? null,
    raw: null,
    previous_errors: attempts.filter(({ failure }) => failure !== cause).map(attemptOf),
  }
}

function attemptOf(attempt: FailedAttempt): JsonObject {
  const { message } = toClientError([attempt])
  return { code: statusOf(attempt.failure), message, provider_name: attempt.provider, raw: null }
}

/** Longer texts that are made of nothing but letters and digits are images, sounds, files and signatures. */
const longestData = 4096
const dataPattern = /^(?:data:[^,]{0,200},)?[\w+/=-]{512}/

/** A copy of bounded length, without what nobody reads. */
class Clip {
  #left = mostCharacters
  get truncated(): boolean {
    return this.#left < 0
  }

  of(value: unknown): unknown {
    this.#left--
    if (typeof value === 'string') return this.#text(value)
    if (Array.isArray(value)) return this.list(value)
    const object = objectOf(value)
    return object ? this.#object(object) : value
  }

  list(values: unknown[]): unknown[] {
    const kept: unknown[] = []
    for (const value of values) {
      if (this.#isFull()) break
      kept.push(this.of(value))
    }
    return kept
  }

  #object(object: JsonObject): JsonObject {
    const kept: JsonObject = {}
    for (const [name, value] of Object.entries(object)) {
      if (this.#isFull()) break
      this.#left -= name.length
      kept[name] = this.of(value)
    }
    return kept
  }

  #text(text: string): string {
    if (text.length > longestData && dataPattern.test(text)) {
      const head = text.startsWith('data:') ? text.slice(0, text.indexOf(',') + 1) : ''
      return `${head}[${text.length - head.length} characters of data]`
    }
    const kept = text.slice(0, Math.max(0, this.#left))
    this.#left -= text.length
    return kept
  }

  #isFull(): boolean {
    if (this.#left > 0) return false
    this.#left = -1
    return true
  }
}
