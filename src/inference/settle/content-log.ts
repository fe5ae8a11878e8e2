import type { EventInput } from '../../delivery/destinations/event.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { buildContentStatement } from '../../ledger/generation-contents.ts'
import type { Statement } from '../../platform/db/batch.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { type FailedAttempt, statusFor, toClientError } from '../failures/failure.ts'
import { maxCharacters, type Transcript, type TranscriptText } from '../reply/transcript.ts'
import type { RequestState } from '../request/inference-request.ts'

/**
 * Committed with the charge. A failure here must not fail the settlement. `error` is what the client was sent, instead of
 * a reply or in the middle of a stream.
 */
export function buildContentStatements(
  gateway: Gateway,
  request: RequestState,
  error: GatewayError | null,
): Statement[] {
  const { transcript } = request.attempts
  if (!request.logsContent || !transcript) return []
  try {
    const { caller, id, at } = request
    const owner = {
      generationId: id,
      organizationId: caller.organizationId,
      workspaceId: caller.key.workspace_id,
      createdAt: new Date(at).toISOString(),
    }
    const content = buildContent(request, transcript, error)
    return [buildContentStatement(gateway.db, gateway.vault, owner, content)]
  } catch (err) {
    logOf(gateway, request).warn({ err }, 'failed to log the content of a generation')
    return []
  }
}

function buildContent(
  { content, attempts }: RequestState,
  transcript: Transcript,
  error: GatewayError | null,
): JsonObject {
  const clipper = new ContentClipper(maxCharacters)
  return {
    input: buildInput(content.body, clipper),
    output: readOutput(content.call, transcript),
    error: error && describeError(error, attempts.failed),
    truncated: clipper.truncated || transcript.truncated,
  }
}

/** The fields of all formats that hold the messages and the system prompt. */
const messageFields = ['messages', 'input', 'contents']
const instructionFields = ['system', 'instructions', 'systemInstruction', 'system_instruction']

/** Reasoning that is hidden from the client is not logged either. */
export function readOutput({ reasoning }: ModelCall, transcript: Transcript): TranscriptText {
  const output = transcript.toText()
  return reasoning?.exclude ? { ...output, reasoning: null } : output
}

/** Builds the logged prompt in the client's format; the oldest messages are truncated first. */
export function buildInput(body: JsonObject, clipper: ContentClipper): EventInput {
  const content = findField(body, messageFields)
  if (content === undefined) return { prompt: asString(clipper.clip(firstPromptOf(body.prompt))) ?? '' }
  const instructions = findField(body, instructionFields)
  const messages = [
    ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
    ...(Array.isArray(content) ? content : [{ role: 'user', content }]),
  ]
  return { messages: clipper.clipList(messages.reverse()).reverse() }
}

function findField(body: JsonObject, names: string[]): unknown {
  return names.map((name) => body[name]).find((value) => value !== undefined && value !== null)
}

function firstPromptOf(prompt: unknown): unknown {
  return Array.isArray(prompt) ? prompt[0] : prompt
}

/**
 * Describes the error that the client received: a provider's messages about the operator's account are not logged for
 * workspaces.
 */
function describeError(error: GatewayError, attempts: readonly FailedAttempt[]): JsonObject {
  const { row, metadata, cause } = error
  return {
    message: describeMessage(error),
    status: row.status,
    provider_name: asString(metadata.provider_name) ?? null,
    raw: null,
    previous_errors: attempts.filter(({ failure }) => failure !== cause).map(describeAttempt),
  }
}

/** The message of an internal error is generic. */
export function describeMessage({ message, row }: GatewayError): string {
  return row.status === 500 ? row.message : message
}

function describeAttempt(attempt: FailedAttempt): JsonObject {
  const { message } = toClientError([attempt])
  return { code: statusFor(attempt.failure), message, provider_name: attempt.provider, raw: null }
}

/** Longer base64 texts are images, audio, files and signatures. */
const maxDataLength = 4096
const dataPattern = /^(?:data:[^,]{0,200},)?[\w+/=-]{512}/

/** Copies a value up to a length, with binary data replaced by its size. */
export class ContentClipper {
  #remaining: number

  constructor(limit: number) {
    this.#remaining = limit
  }

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
    const clipped: unknown[] = []
    for (const value of values) {
      if (this.#isFull()) break
      clipped.push(this.clip(value))
    }
    return clipped
  }

  #clipObject(object: JsonObject): JsonObject {
    const clipped: JsonObject = {}
    for (const [name, value] of Object.entries(object)) {
      if (this.#isFull()) break
      this.#remaining -= name.length
      clipped[name] = this.clip(value)
    }
    return clipped
  }

  #clipText(text: string): string {
    if (text.length > maxDataLength && dataPattern.test(text)) {
      const head = text.startsWith('data:') ? text.slice(0, text.indexOf(',') + 1) : ''
      return `${head}[${text.length - head.length} characters of data]`
    }
    const clipped = text.slice(0, Math.max(0, this.#remaining))
    this.#remaining -= text.length
    return clipped
  }

  #isFull(): boolean {
    if (this.#remaining > 0) return false
    this.#remaining = -1
    return true
  }
}
