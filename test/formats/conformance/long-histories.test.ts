import { expect, test } from 'bun:test'
import { chat } from '../../../src/formats/chat/chat.ts'
import { gemini } from '../../../src/formats/gemini/gemini.ts'
import { ollamaChat } from '../../../src/formats/ollama/ollama.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { measureLoopDelay } from '../../support/loop-delay.ts'
import { createTarget } from '../fixtures/chat.ts'

const count = 20_000

function repeat<T>(create: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => create(index))
}

const signature = { google: { thought_signature: 'c2lnbmF0dXJl' } }

/** A turn with many tool calls, each with its result, in formats that match them. */
const histories: Record<string, () => unknown> = {
  chat: () =>
    chat.client.decodeRequest({
      messages: [
        {
          role: 'assistant',
          tool_calls: repeat((index) => ({
            id: `c${index}`,
            type: 'function',
            function: { name: 'f', arguments: '{}' },
            extra_content: signature,
          })),
        },
        ...repeat((index) => ({ role: 'tool', tool_call_id: `c${index}`, content: 'ok' })),
      ],
    }),
  'chat with one id': () =>
    chat.client.decodeRequest({
      messages: [
        {
          role: 'assistant',
          tool_calls: repeat(() => ({
            id: 'c',
            type: 'function',
            function: { name: 'f', arguments: '{}' },
            extra_content: signature,
          })),
        },
      ],
    }),
  'chat upstream': () =>
    chat.upstream.encodeRequest(
      histories.chat?.() as ReturnType<typeof chat.client.decodeRequest>,
      createTarget(),
    ),
  ollama: () =>
    ollamaChat.decodeRequest({
      model: 'm',
      messages: [
        { role: 'assistant', tool_calls: repeat(() => ({ function: { name: 'f', arguments: {} } })) },
        ...repeat(() => ({ role: 'tool', tool_name: 'f', content: 'ok' })),
      ],
    } as JsonObject),
  gemini: () =>
    gemini.client.decodeRequest({
      contents: [
        {
          role: 'model',
          parts: repeat((index) => ({ functionCall: { id: `c${index}`, name: 'f', args: {} } })),
        },
        {
          role: 'user',
          parts: repeat((index) => ({ functionResponse: { id: `c${index}`, name: 'f', response: {} } })),
        },
      ],
    }),
}

/** Each call took as long as the number of others: half a second in all. */
const maxDelayMs = 200

test.each(Object.keys(histories))(
  'S13 thousands of tool calls and results are read at once (%s)',
  async (name) => {
    expect(await measureLoopDelay(maxDelayMs, () => histories[name]?.())).toBeLessThan(maxDelayMs)
  },
)
