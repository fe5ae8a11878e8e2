import type { IoLoggingSettings } from '../../account/workspaces.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { DataRegion } from '../../catalogue/vocabulary.ts'
import type { Statement } from '../../db/batch.ts'
import type { GatewayError } from '../../errors/gateway-error.ts'
import { buildContentStatement } from '../../ledger/generation-contents.ts'
import { asObject, asString, type JsonObject } from '../../lib/json-values.ts'
import { maxCharacters, type Transcript } from '../reply/transcript.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { type FailedAttempt, statusFor, toClientError } from '../upstream/failure.ts'

/** How a request went, as far as its content is concerned. */
export interface ContentSource {
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
export function shouldLogContent(
  logging: IoLoggingSettings | null,
  { id, keyId, region }: { id: string; keyId: number; region: DataRegion },
): boolean {
  if (!logging || region !== 'global') return false
  if (logging.keyIds && !logging.keyIds.has(keyId)) return false
  return Number.parseInt(id.slice(-8), 16) < logging.samplingRate * 2 ** 32
}

/** Written together with the charge. What goes along with a charge must never cost us the charge. */
export function buildContentStatements(
  gateway: Gateway,
  request: InferenceRequest,
  told: ContentSource,
): Statement[] {
  if (!told.transcript) return []
  try {
    const { caller, id, at } = request
    const owner = {
      generationId: id,
      organizationId: caller.organizationId,
      workspaceId: caller.key.workspace_id,
      createdAt: new Date(at).toISOString(),
    }
    const content = buildContent(request, told, told.transcript)
    return [buildContentStatement(gateway.db, gateway.vault, owner, content)]
  } catch (err) {
    gateway.log.warn({ err, id: request.id }, 'the content of a generation could not be kept')
    return []
  }
}

function buildContent(
  { content: { body, call } }: InferenceRequest,
  { error, attempts }: ContentSource,
  transcript: Transcript,
): JsonObject {
  const clip = new ContentClipper()
  const said = transcript.toText()
  return {
    input: buildInput(body, clip),
    // Not shown to the client, not kept either.
    output: call.reasoning?.exclude ? { ...said, reasoning: null } : said,
    error: error && describeError(error, attempts),
    truncated: clip.truncated || transcript.truncated,
  }
}

/** Where the formats have what is said, and what stands above it. */
const messageFields = ['messages', 'input', 'contents']
const instructionFields = ['system', 'instructions', 'systemInstruction', 'system_instruction']

/** In the words of the client, the newest first to be kept. */
function buildInput(body: JsonObject, clip: ContentClipper): JsonObject {
  const content = firstPresent(body, messageFields)
  if (content === undefined) return { prompt: asString(clip.clip(firstPrompt(body.prompt))) ?? '' }
  const instructions = firstPresent(body, instructionFields)
  const messages = [
    ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
    ...(Array.isArray(content) ? content : [{ role: 'user', content }]),
  ]
  return { messages: clip.clipList(messages.reverse()).reverse() }
}

function firstPresent(body: JsonObject, names: string[]): unknown {
  return names.map((name) => body[name]).find((value) => value !== undefined && value !== null)
}

function firstPrompt(prompt: unknown): unknown {
  return Array.isArray(prompt) ? prompt[0] : prompt
}

/** Only what the client may know: what a provider says about our account there is for the operator's eyes. */
function describeError(error: GatewayError, attempts: readonly FailedAttempt[]): JsonObject {
  const { message, row, metadata, cause } = error
  return {
    message: row.status === 500 ? row.message : message,
    status: row.status,
    provider_name: asString(metadata.provider_name) ?? null,
    raw: null,
    previous_errors: attempts.filter(({ failure }) => failure !== cause).map(describeAttempt),
  }
}

function describeAttempt(attempt: FailedAttempt): JsonObject {
  const { message } = toClientError([attempt])
  return { code: statusFor(attempt.failure), message, provider_name: attempt.provider, raw: null }
}

/** Longer texts that are made of nothing but letters and digits are images, sounds, files and signatures. */
const maxDataLength = 4096
const dataPattern = /^(?:data:[^,]{0,200},)?[\w+/=-]{512}/

/** A copy of bounded length, without what nobody reads. */
class ContentClipper {
  #remaining = maxCharacters
  get truncated(): boolean {
    return this.#remaining < 0
  }

  clip(value: unknown): unknown {
    this.#remaining--
    if (typeof value === 'string') return this.#clipText(value)
    if (Array.isArray(value)) return this.clipList(value)
    const object = asObject(value)
    return object ? this.#clipObject(object) : value
  }

  clipList(values: unknown[]): unknown[] {
    const kept: unknown[] = []
    for (const value of values) {
      if (this.#isFull()) break
      kept.push(this.clip(value))
    }
    return kept
  }

  #clipObject(object: JsonObject): JsonObject {
    const kept: JsonObject = {}
    for (const [name, value] of Object.entries(object)) {
      if (this.#isFull()) break
      this.#remaining -= name.length
      kept[name] = this.clip(value)
    }
    return kept
  }

  #clipText(text: string): string {
    if (text.length > maxDataLength && dataPattern.test(text)) {
      const head = text.startsWith('data:') ? text.slice(0, text.indexOf(',') + 1) : ''
      return `${head}[${text.length - head.length} characters of data]`
    }
    const kept = text.slice(0, Math.max(0, this.#remaining))
    this.#remaining -= text.length
    return kept
  }

  #isFull(): boolean {
    if (this.#remaining > 0) return false
    this.#remaining = -1
    return true
  }
}
