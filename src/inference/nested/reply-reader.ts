import type { ModelCall } from '../../formats/call/call.ts'
import { ReplyCollector, type ReplyEvent } from '../../formats/call/event.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import { type Usage, zeroUsage } from '../../formats/call/usage.ts'
import type { ReplyContext, ReplyWriter } from '../../formats/wire-format.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { ClientFormat } from '../request/client-format.ts'
import { formats } from '../request/formats.ts'
import type { SettledReply } from '../request/inference-request.ts'
import type { NestedModelRequest } from '../tools/tool.ts'

/** Collects the reply of a nested request from its events, without encoding it in a format. */
export class NestedReplyReader {
  readonly #listeners: Pick<NestedModelRequest, 'onText' | 'onReasoning'>
  #context: ReplyContext | null = null
  #collector = new ReplyCollector()
  #usage: Usage = zeroUsage
  /** Whether the reply is complete and its charge is durable. */
  isComplete = false
  error: GatewayError | null = null
  /** Whether it was sent to a provider, and so has a record. */
  isCharged = false
  cost = 0n

  constructor(listeners: Pick<NestedModelRequest, 'onText' | 'onReasoning'>) {
    this.#listeners = listeners
  }

  get model(): string {
    return this.#context?.model ?? ''
  }
  get provider(): string {
    return this.#context?.provider ?? ''
  }
  get usage(): Usage {
    return this.#usage
  }
  get parts(): OutputPart[] {
    return (this.#collector.reply.choices[0]?.parts ?? []).filter((part) => part !== undefined)
  }
  get finishReason(): string | null {
    return this.#collector.reply.choices[0]?.end?.reason ?? null
  }

  /** Creates the writer of an attempt; discards what an earlier attempt has written. */
  createWriter(context: ReplyContext): ReplyWriter {
    this.#context = context
    this.#collector = new ReplyCollector()
    return {
      write: (event) => {
        this.#collector.add(event)
        this.#report(event)
        return ''
      },
      end: (usage) => {
        this.#usage = usage
        this.isComplete = true
        return ''
      },
      fail: (error) => {
        this.error = error
        return ''
      },
      finalBody: null,
    }
  }

  settle({ candidate, cost }: SettledReply): void {
    this.isCharged = candidate !== null
    this.cost = cost
  }

  #report(event: ReplyEvent): void {
    if (event.type !== 'part-start' && event.type !== 'part-delta') return
    const part = this.parts[event.part]
    const text = event.type === 'part-start' ? textOf(event.content) : event.delta.text
    if (!text) return
    if (part?.kind === 'text') this.#listeners.onText?.(text)
    else if (part?.kind === 'reasoning') this.#listeners.onReasoning?.(text)
  }
}

function textOf(part: OutputPart): string {
  return part.kind === 'text' || part.kind === 'reasoning' ? part.text : ''
}

/** A client format that passes the call and the events of the reply through untranslated. */
export function createNestedFormat(call: ModelCall, reader: NestedReplyReader): ClientFormat {
  const { responses } = formats
  return {
    ...responses,
    requestCodec: { ...responses.requestCodec, decodeRequest: () => call },
    replyCodec: {
      ...responses.replyCodec,
      createWriter: (context) => reader.createWriter(context),
      heartbeat: '',
    },
    wireFormat: null,
  }
}
