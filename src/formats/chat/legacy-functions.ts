import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { SseFrame } from '../../platform/http/sse.ts'
import { asNumber, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Reply } from '../call/event.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import type { ClientCodec, Passthrough, Relay, ReplyContext, ReplyWriter } from '../wire-format.ts'
import { formatChunk } from './chunk.ts'

/**
 * Converts the deprecated `functions`, `function_call` and messages with role `function` to tools, because few
 * upstreams still support them. Replies are converted back to `function_call`.
 */
export function convertFunctionsToTools(body: JsonObject): JsonObject {
  const messages = Array.isArray(body.messages) ? body.messages : []
  const hasFunctionMessages = messages.some(isFunctionMessage)
  if (!hasFunctionMessages && !body.functions && !body.function_call) return body
  const { functions, function_call: choice, ...rest } = body
  const tools = asObjects(functions).map((functionFields) => ({ type: 'function', function: functionFields }))
  const chosenName = asString(asObject(choice)?.name)
  const toolChoice = chosenName === undefined ? choice : { type: 'function', function: { name: chosenName } }
  return {
    ...rest,
    ...(hasFunctionMessages && { messages: convertFunctionMessages(messages) }),
    ...(tools.length > 0 && { tools: [...(Array.isArray(body.tools) ? body.tools : []), ...tools] }),
    ...(Boolean(toolChoice) && !body.tool_choice && { tool_choice: toolChoice }),
  }
}

function isFunctionMessage(item: unknown): boolean {
  const message = asObject(item)
  return message?.role === 'function' || asObject(message?.function_call) !== undefined
}

/** Function calls have no ids: a result belongs to the last call before it. */
function convertFunctionMessages(messages: unknown[]): unknown[] {
  let id = 'call_0'
  return messages.map((item, index) => {
    const message = asObject(item)
    const functionCall = asObject(message?.function_call)
    if (message?.role === 'function') {
      const { name, ...rest } = message
      return { ...rest, role: 'tool', tool_call_id: id, content: message.content ?? '', ...nameField(name) }
    }
    if (!message || !functionCall) return item
    const { function_call: _called, ...rest } = message
    // Some clients send an empty `function_call`.
    if (!asString(functionCall.name)) return rest
    id = `call_${index}`
    return {
      ...rest,
      tool_calls: [...asObjects(message.tool_calls), { id, type: 'function', function: functionCall }],
    }
  })
}

function nameField(name: unknown): JsonObject {
  return name === undefined ? {} : { name }
}

/** The client sent `functions` without `tools`, so it expects calls in `function_call`. */
function usesLegacyFunctions({ body }: ReplyContext): boolean {
  return Array.isArray(body.functions) && asObjects(body.tools).length === 0
}

export function wrapFunctionReplies(
  client: Pick<ClientCodec, 'createWriter' | 'encodeReply'>,
): typeof client {
  return {
    createWriter: (context) => {
      const inner = client.createWriter(context)
      return usesLegacyFunctions(context) ? new FunctionCallWriter(inner) : inner
    },
    encodeReply: (reply: Reply, context, cost) => {
      const body = client.encodeReply(reply, context, cost)
      return usesLegacyFunctions(context) ? toFunctionCallBody(body) : body
    },
  }
}

export function wrapFunctionRelays(
  passthrough: Pick<Passthrough, 'createRelay' | 'passReply'>,
): typeof passthrough {
  return {
    createRelay: (context) => {
      const inner = passthrough.createRelay(context)
      return usesLegacyFunctions(context) ? new FunctionCallRelay(inner) : inner
    },
    passReply: (original, context, cost, usage) => {
      const body = passthrough.passReply(original, context, cost, usage)
      return !context.isPlain && usesLegacyFunctions(context) ? toFunctionCallBody(body) : body
    },
  }
}

class FunctionCallWriter implements ReplyWriter {
  readonly finalBody = null
  readonly #inner: ReplyWriter

  constructor(inner: ReplyWriter) {
    this.#inner = inner
  }

  write: ReplyWriter['write'] = (event) => rewriteEvents(this.#inner.write(event))
  end: ReplyWriter['end'] = (usage, cost) => rewriteEvents(this.#inner.end(usage, cost))
  fail: ReplyWriter['fail'] = (error) => this.#inner.fail(error)
}

class FunctionCallRelay implements Relay {
  readonly finalBody = null
  readonly #inner: Relay

  constructor(inner: Relay) {
    this.#inner = inner
  }

  get summary() {
    return this.#inner.summary
  }
  pass(frame: SseFrame): string {
    return rewriteEvents(this.#inner.pass(frame))
  }
  close(): string {
    return rewriteEvents(this.#inner.close?.() ?? '')
  }
  end(usage: Usage, cost: UsageCost): string {
    return rewriteEvents(this.#inner.end(usage, cost))
  }
  fail(error: GatewayError): string {
    return this.#inner.fail(error)
  }
}

/** Rewrites the events of the gateway's own writers; only those with tool calls are parsed. */
function rewriteEvents(text: string): string {
  if (!text.includes('"tool_calls"')) return text
  return text
    .split(/(?<=\n\n)/)
    .map((event) => {
      if (!event.startsWith('data: {')) return event
      return formatChunk(toFunctionCallBody(JSON.parse(event.slice('data: '.length))))
    })
    .join('')
}

function toFunctionCallBody(body: JsonObject): JsonObject {
  return { ...body, choices: asObjects(body.choices).map(toFunctionCallChoice) }
}

function toFunctionCallChoice(choice: JsonObject): JsonObject {
  const [delta, message] = [asObject(choice.delta), asObject(choice.message)]
  return {
    ...choice,
    ...(delta && { delta: toFunctionCallMessage(delta) }),
    ...(message && { message: toFunctionCallMessage(message) }),
    ...(choice.finish_reason === 'tool_calls' && { finish_reason: 'function_call' }),
  }
}

/** Only one call fits: the model repeats the others once it has the first result. */
function toFunctionCallMessage(message: JsonObject): JsonObject {
  const { tool_calls: toolCalls, ...rest } = message
  const first = asObjects(toolCalls).find(({ index }) => (asNumber(index) ?? 0) === 0)
  const functionCall = asObject(first?.function)
  return functionCall ? { ...rest, function_call: functionCall } : rest
}
