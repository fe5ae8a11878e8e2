import { EgressError, sendBuffered } from '../../../platform/http/egress-client.ts'
import { parseRetryAfter } from '../../../platform/http/retry-after.ts'
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  type JsonObject,
} from '../../../platform/json/json-values.ts'
import { RunError } from './run-error.ts'

export interface GatewayAddress {
  /** The origin, without a path. */
  url: string
  key: string
}

export interface TaskReply {
  text: string
  costNanos: bigint
  latencyMs: number
}

export type Sleep = (ms: number) => Promise<unknown>

const timeoutMs = 10 * 60_000
const maxReplyBytes = 32 * 1024 * 1024
const maxAttempts = 4
const baseDelayMs = 1000
const maxDelayMs = 60_000
const retryableStatuses = new Set([408, 429, 500, 502, 503, 504, 529])

/** A failure that another attempt may not have. */
class TemporaryError extends RunError {
  readonly retryAfterMs: number | undefined

  constructor(message: string, retryAfterMs?: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** A running gateway, called as its clients call it. */
export class GatewayClient {
  readonly #address: GatewayAddress
  readonly #sleep: Sleep

  constructor(address: GatewayAddress, sleep: Sleep = Bun.sleep) {
    this.#address = address
    this.#sleep = sleep
  }

  async complete(body: JsonObject): Promise<TaskReply> {
    const { reply, latencyMs } = await this.#post('/chat/completions', body)
    const message = asObject(asObjects(reply.choices)[0]?.message)
    return {
      text: asString(message?.content) ?? '',
      costNanos: toNanos(asNumber(asObject(reply.usage)?.cost) ?? 0),
      latencyMs,
    }
  }

  /** The most that a request can cost; null if its price is unknown. */
  async quote(body: JsonObject): Promise<bigint | null> {
    const { reply } = await this.#post('/quote', body)
    const quote = asObject(reply.data)
    if (quote?.would === 'be_refused')
      throw new RunError(`The request would be refused: ${describeRefusal(quote)}`)
    const worst = asNumber(asObject(quote?.price)?.worst_case)
    return worst === undefined ? null : toNanos(worst)
  }

  /** The latency is that of the attempt that succeeded. */
  async #post(path: string, body: JsonObject): Promise<{ reply: JsonObject; latencyMs: number }> {
    for (let attempt = 1; ; attempt++) {
      const startedAt = performance.now()
      try {
        const reply = await this.#send(path, body)
        return { reply, latencyMs: performance.now() - startedAt }
      } catch (error) {
        if (!(error instanceof TemporaryError) || attempt === maxAttempts) throw error
        const delayMs = error.retryAfterMs ?? baseDelayMs * 2 ** (attempt - 1)
        await this.#sleep(Math.min(maxDelayMs, delayMs))
      }
    }
  }

  async #send(path: string, body: JsonObject): Promise<JsonObject> {
    const { url, key } = this.#address
    const request = {
      url: `${url}/api/v1${path}`,
      method: 'POST' as const,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }
    // The operator entered the address, usually that of this machine.
    const { status, headers, bytes } = await sendBuffered(request, {
      allowPrivate: [formatHost(new URL(url))],
      timeoutMs,
      maxBytes: maxReplyBytes,
    }).catch((error: unknown) => {
      throw error instanceof EgressError ? new TemporaryError(error.message) : error
    })
    const reply = parseReply(bytes)
    if (status === 200) return reply
    const message = asString(asObject(reply.error)?.message) ?? `The gateway replied with status ${status}.`
    if (!retryableStatuses.has(status)) throw new RunError(message)
    throw new TemporaryError(message, parseRetryAfter(headers))
  }
}

function formatHost({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
}

function parseReply(bytes: Uint8Array): JsonObject {
  try {
    return asObject(JSON.parse(new TextDecoder().decode(bytes))) ?? {}
  } catch {
    return {}
  }
}

function describeRefusal({ refusal }: JsonObject): string {
  const error = asObject(asObject(refusal)?.error) ?? asObject(refusal)
  return asString(error?.message) ?? 'no message'
}

function toNanos(usd: number): bigint {
  return BigInt(Math.round(usd * 1e9))
}
