import { commonReasoningHistory } from '../../catalog/provider.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { PlainPrompt } from '../../formats/call/plain-prompt.ts'
import { expandServerTools, hasServerTools } from '../../formats/call/server-tools.ts'
import {
  computeRequestSize,
  estimatePlainTokens,
  estimatePromptTokens,
  type RequestSize,
  sizePlainPrompt,
} from '../../formats/call/size.ts'
import { chat } from '../../formats/chat/chat.ts'
import { wireCapabilities } from '../../formats/vocabulary.ts'
import type { ClientCodec, Target, WireFormat } from '../../formats/wire-format.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ClientFormat } from './client-format.ts'

/** The body as the client sent it, before a preset or a stored conversation was merged into it. The path may name its model. */
export interface RequestSource {
  text: string
  body: JsonObject
  /** The number of JSON values in the text. */
  values: number
}

export interface ReceivedFacts {
  characters: number
  /** Whether each stage takes milliseconds, so that the event loop is yielded between stages. */
  isLarge: boolean
  /** The model by the name the client used. */
  model: string | null
}

/**
 * The prompt and parameters for the model. Pass-through needs `verbatim`, and `rewrite` is the only way to change the
 * call: a rewritten request has no `verbatim`, so it is always encoded from its call.
 */
export class RequestContent {
  /** Measures of a plain conversation; null for any other, and for one that was rewritten. */
  readonly plain: PlainPrompt | null
  readonly stream: boolean
  #call: ModelCall | UndecodedCall
  /** The body in the client's format. */
  readonly body: JsonObject
  /** The client's own text, as long as no stage has rewritten the call and it may still be sent. */
  verbatim: RequestSource | null
  /** Facts of the client's text that remain after it is released. */
  readonly received: ReceivedFacts
  /** Whether the call has content that the body does not have. */
  readonly #isExtended: boolean

  private constructor(
    call: ModelCall | UndecodedCall,
    { body, verbatim, received, isExtended = false }: ContentOrigin,
  ) {
    this.#call = call
    this.plain = 'plain' in call ? call.plain : null
    this.stream = 'plain' in call ? call.plain.stream : call.stream
    this.body = body
    this.verbatim = verbatim
    this.received = received
    this.#isExtended = isExtended
  }

  static parse({ requestCodec }: ClientFormat, body: JsonObject, source: RequestSource): RequestContent {
    const received = {
      characters: source.text.length,
      isLarge: isLarge(source),
      model: asString(source.body?.model) ?? null,
    }
    const plain = body === source.body ? requestCodec.readPlain?.(body) : null
    if (plain) return new RequestContent({ plain, codec: requestCodec }, { body, verbatim: source, received })
    const call = requestCodec.decodeRequest(body)
    if (!hasServerTools(call.messages)) return new RequestContent(call, { body, verbatim: source, received })
    // Upstreams are sent what the model saw, not what the client was sent.
    const expanded = { ...call, messages: expandServerTools(call.messages) }
    return new RequestContent(expanded, { body, verbatim: null, received })
  }

  /** A plain conversation is decoded when its call is first read. */
  get call(): ModelCall {
    if ('codec' in this.#call) this.#call = this.#call.codec.decodeRequest(this.body)
    return this.#call
  }

  /** An estimate. */
  get promptTokens(): number {
    return this.plain ? estimatePlainTokens(this.plain) : estimatePromptTokens(this.call)
  }

  /** Measures the whole body, including what a preset or a stored conversation added. */
  measure(): RequestSize {
    if (this.plain && this.verbatim) return sizePlainPrompt(this.plain, Buffer.byteLength(this.verbatim.text))
    const { call, body, verbatim } = this
    if (this.#isExtended) return computeRequestSize(call, body, Buffer.byteLength(JSON.stringify(call)))
    const text = verbatim && body === verbatim.body ? verbatim.text : JSON.stringify(body)
    return computeRequestSize(call, body, Buffer.byteLength(text))
  }

  /**
   * Releases the client's text, which an open stream must not hold: once an upstream has begun to reply, it is not sent
   * again.
   */
  releaseText(): void {
    this.verbatim = null
  }

  /** The same request, to be encoded from its call, with other fields in its body. These are not part of the prompt. */
  replaceFields(fields: JsonObject): RequestContent {
    return new RequestContent(this.call, {
      body: { ...this.body, ...fields },
      verbatim: null,
      received: this.received,
      isExtended: this.#isExtended,
    })
  }

  /** The same request with another call, such as that of a later turn. The body stays as the client sent it. */
  replaceCall(call: ModelCall): RequestContent {
    const { body, received } = this
    return new RequestContent(call, { body, verbatim: null, received, isExtended: true })
  }

  /** The same request with another call. The body is encoded from it too, for logs and for replies that echo the request. */
  rewrite(
    { wireFormat }: ClientFormat,
    call: ModelCall,
    { isLarge }: Pick<ReceivedFacts, 'isLarge'> = this.received,
  ): RequestContent {
    const encoded = encodePrompt(wireFormat ?? chat, call)
    const body = { ...omit(this.body, promptFields), ...encoded }
    return new RequestContent(call, { body, verbatim: null, received: { ...this.received, isLarge } })
  }
}

/** The body and the text that a call was decoded from. */
interface ContentOrigin extends Pick<RequestContent, 'body' | 'verbatim' | 'received'> {
  isExtended?: boolean
}

/** The call of a plain conversation that nothing has read yet. */
interface UndecodedCall {
  plain: PlainPrompt
  codec: Pick<ClientCodec, 'decodeRequest'>
}

export function isLarge({ text, values }: Pick<RequestSource, 'text' | 'values'>): boolean {
  return values > largeValueCount || text.length > largeTextLength
}

const largeValueCount = 5000
export const largeTextLength = 1024 * 1024

/** The fields of all formats that hold the prompt. */
const promptFields: ReadonlySet<string> = new Set([
  'messages',
  'system',
  'input',
  'instructions',
  'contents',
  'systemInstruction',
  'system_instruction',
  'prompt',
  'tools',
  'documents',
])

/** The prompt as the body of a request in this format. */
export function encodePrompt(wireFormat: WireFormat, call: ModelCall): JsonObject {
  const { body } = wireFormat.upstream.encodeRequest(call, buildPermissiveTarget(wireFormat, call))
  return Object.fromEntries(Object.entries(body).filter(([name]) => promptFields.has(name)))
}

/** Drops nothing that the format can carry. */
function buildPermissiveTarget({ upstream }: WireFormat, { stream }: ModelCall): Target {
  return {
    model: '',
    stream,
    maxOutputTokens: null,
    reasoning: { efforts: null, budget: true },
    signatureFormat: upstream.defaults.signatureFormat,
    reasoningHistory: commonReasoningHistory,
    unsupportedFields: new Set(),
    capabilities: new Set(wireCapabilities),
    reasoningMode: null,
    tier: null,
  }
}

function omit(body: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.has(name)))
}
