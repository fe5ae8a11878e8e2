import type { Reply } from '../../call/event.ts'
import type { Bill, Usage } from '../../call/usage.ts'
import type { GatewayError } from '../../errors.ts'
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import type { ClientSide, Relay, ReplyFacts, ReplyWriter, SameDialect } from '../dialect.ts'
import { event } from './chunk.ts'

/**
 * Requests from before tools had types: `functions` and `function_call`, results of role `function`. They are
 * read as tools, because few upstreams still know them, and their replies are written back as they expect them.
 */
export function withTools(body: JsonObject): JsonObject {
  const messages = Array.isArray(body.messages) ? body.messages : []
  const inHistory = messages.some(isFunctionMessage)
  if (!inHistory && !body.functions && !body.function_call) return body
  const { functions, function_call: choice, ...rest } = body
  const tools = objectsOf(functions).map((given) => ({ type: 'function', function: given }))
  const named = textOf(objectOf(choice)?.name)
  const toolChoice = named === undefined ? choice : { type: 'function', function: { name: named } }
  return {
    ...rest,
    ...(inHistory && { messages: toolMessages(messages) }),
    ...(tools.length > 0 && { tools: [...(Array.isArray(body.tools) ? body.tools : []), ...tools] }),
    ...(Boolean(toolChoice) && !body.tool_choice && { tool_choice: toolChoice }),
  }
}

function isFunctionMessage(item: unknown): boolean {
  const message = objectOf(item)
  return message?.role === 'function' || objectOf(message?.function_call) !== undefined
}

/** Calls of functions have no ids: each result answers the last call before it. */
function toolMessages(messages: unknown[]): unknown[] {
  let id = 'call_0'
  return messages.map((item, place) => {
    const message = objectOf(item)
    const called = objectOf(message?.function_call)
    if (message?.role === 'function') {
      const { name, ...rest } = message
      return { ...rest, role: 'tool', tool_call_id: id, content: message.content ?? '', ...named(name) }
    }
    if (!message || !called) return item
    const { function_call: _called, ...rest } = message
    // Some clients keep the member where nothing was called.
    if (!textOf(called.name)) return rest
    id = `call_${place}`
    return {
      ...rest,
      tool_calls: [...objectsOf(message.tool_calls), { id, type: 'function', function: called }],
    }
  })
}

function named(name: unknown): JsonObject {
  return name === undefined ? {} : { name }
}

/** The client knows functions only: what is called comes back in `function_call`. */
function expectsFunctionCall({ body }: ReplyFacts): boolean {
  return Array.isArray(body.functions) && objectsOf(body.tools).length === 0
}

export function functionReplies(client: Pick<ClientSide, 'writer' | 'encodeReply'>): typeof client {
  return {
    writer: (about) => {
      const inner = client.writer(about)
      return expectsFunctionCall(about) ? new FunctionCallWriter(inner) : inner
    },
    encodeReply: (reply: Reply, about, bill) => {
      const body = client.encodeReply(reply, about, bill)
      return expectsFunctionCall(about) ? withFunctionCalls(body) : body
    },
  }
}

export function functionRelays(same: Pick<SameDialect, 'relay' | 'passReply'>): typeof same {
  return {
    relay: (about) => {
      const inner = same.relay(about)
      return expectsFunctionCall(about) ? new FunctionCallRelay(inner) : inner
    },
    passReply: (given, about, bill, usage) => {
      const body = same.passReply(given, about, bill, usage)
      return expectsFunctionCall(about) ? withFunctionCalls(body) : body
    },
  }
}

class FunctionCallWriter implements ReplyWriter {
  readonly final = null
  readonly #inner: ReplyWriter

  constructor(inner: ReplyWriter) {
    this.#inner = inner
  }

  write: ReplyWriter['write'] = (given) => rewritten(this.#inner.write(given))
  end: ReplyWriter['end'] = (usage, bill) => rewritten(this.#inner.end(usage, bill))
  fail: ReplyWriter['fail'] = (error) => this.#inner.fail(error)
}

class FunctionCallRelay implements Relay {
  readonly final = null
  readonly #inner: Relay

  constructor(inner: Relay) {
    this.#inner = inner
  }

  get seen() {
    return this.#inner.seen
  }
  pass(frame: SseFrame): string {
    return rewritten(this.#inner.pass(frame))
  }
  close(): string {
    return rewritten(this.#inner.close?.() ?? '')
  }
  end(usage: Usage, bill: Bill): string {
    return rewritten(this.#inner.end(usage, bill))
  }
  fail(error: GatewayError): string {
    return this.#inner.fail(error)
  }
}

/** Events of our own writers, of which only those about calls are read again. */
function rewritten(text: string): string {
  if (!text.includes('"tool_calls"')) return text
  return text
    .split(/(?<=\n\n)/)
    .map((written) => {
      if (!written.startsWith('data: {')) return written
      return event(withFunctionCalls(JSON.parse(written.slice('data: '.length))))
    })
    .join('')
}

function withFunctionCalls(body: JsonObject): JsonObject {
  return { ...body, choices: objectsOf(body.choices).map(functionChoice) }
}

function functionChoice(choice: JsonObject): JsonObject {
  const [delta, message] = [objectOf(choice.delta), objectOf(choice.message)]
  return {
    ...choice,
    ...(delta && { delta: withFunctionCall(delta) }),
    ...(message && { message: withFunctionCall(message) }),
    ...(choice.finish_reason === 'tool_calls' && { finish_reason: 'function_call' }),
  }
}

/** There is room for one call: a model that made several makes the others again once it has the first result. */
function withFunctionCall(given: JsonObject): JsonObject {
  const { tool_calls: calls, ...rest } = given
  const called = objectsOf(calls).find(({ index }) => (numberOf(index) ?? 0) === 0)
  const call = objectOf(called?.function)
  return call ? { ...rest, function_call: call } : rest
}
