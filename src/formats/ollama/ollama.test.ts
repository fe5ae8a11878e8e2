import { describe, expect, test } from 'bun:test'
import { cost, createContext } from '../../../test/formats/fixtures/chat.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { collectReply, type ReplyEvent } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { ollamaChat, ollamaGenerate } from './ollama.ts'

const decode = (body: JsonObject) => ollamaChat.decodeRequest({ model: 'm', ...body })
const hello = { role: 'user', content: 'Hello' }

describe('requests', () => {
  test('are streamed by default', () => {
    expect(decode({ messages: [hello] }).stream).toBe(true)
    expect(decode({ messages: [hello], stream: false }).stream).toBe(false)
  })

  test('sampling options are decoded, runtime options ignored, and others reported', () => {
    const options = {
      temperature: 0.5,
      num_predict: 9,
      repeat_penalty: 1.1,
      stop: ['x'],
      num_gpu: 1,
      tfs_z: 1,
    }
    expect(decode({ messages: [hello], options })).toMatchObject({
      ...{ temperature: 0.5, maxTokens: 9, repetitionPenalty: 1.1, stop: ['x'] },
      unknown: ['options.tfs_z'],
    })
    expect(decode({ messages: [hello], options: { num_predict: -1 } }).maxTokens).toBeUndefined()
  })

  test('tool results are matched by id, by name or in order', () => {
    const call = (name: string, id?: string) => ({
      ...(id && { id }),
      function: { name, arguments: { a: 1 } },
    })
    const results = (calls: object[], answers: object[]) => {
      const assistant = { role: 'assistant', content: '', tool_calls: calls }
      const tools = answers.map((answer) => ({ role: 'tool', content: 'r', ...answer }))
      const { messages } = decode({ messages: [hello, assistant, ...tools] })
      expect(messages).toHaveLength(3)
      return messages[2]?.parts.map((part) => (part.kind === 'tool-result' ? part.id : part.kind))
    }
    expect(results([call('f', 'x'), call('g', 'y')], [{ tool_call_id: 'y' }, { tool_call_id: 'x' }])).toEqual(
      ['y', 'x'],
    )
    expect(results([call('f'), call('g')], [{ tool_name: 'g' }, { tool_name: 'f' }])).toEqual([
      'call_1_1',
      'call_1_0',
    ])
    expect(results([call('f'), call('f')], [{}, {}])).toEqual(['call_1_0', 'call_1_1'])
  })

  test('the media type of images is detected', () => {
    const images = ['iVBORw0K', '/9j/4AAQ', 'R0lGODlh', 'UklGRh4A', 'data:image/png;base64,iVBORw0K']
    const parts = decode({ messages: [{ ...hello, images }] }).messages[0]?.parts.slice(1)
    const types = parts?.map((part) =>
      part.kind === 'image' && part.source.kind === 'data' ? part.source.mediaType : '',
    )
    expect(types).toEqual(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/png'])
  })

  test('response formats and thinking options', () => {
    expect(decode({ messages: [hello], format: 'json' }).format).toEqual({ kind: 'json' })
    expect(decode({ messages: [hello], format: { type: 'object' } }).format).toEqual({
      kind: 'schema',
      schema: { type: 'object' },
    })
    expect(decode({ messages: [hello], format: '' }).format).toBeUndefined()
    expect(decode({ messages: [hello], think: false }).reasoning).toEqual({ enabled: false })
    expect(decode({ messages: [hello], think: 'low' }).reasoning).toEqual({ effort: 'low' })
  })

  test('a suffix is rejected', () => {
    expect(() => ollamaGenerate.decodeRequest({ model: 'm', prompt: 'a', suffix: 'b' })).toThrow('suffix:')
  })
})

describe('replies', () => {
  const events: ReplyEvent[] = [
    { type: 'reply-start' },
    ...(['reasoning', 'text'] as const).flatMap((kind, part): ReplyEvent[] => [
      {
        type: 'part-start',
        choice: 0,
        part,
        content: kind === 'text' ? { kind, text: '' } : { kind, text: '', summary: [], format: 'unknown' },
      },
      { type: 'part-delta', choice: 0, part, delta: { text: kind === 'text' ? 'Yes' : 'Hm' } },
      { type: 'part-end', choice: 0, part },
    ]),
    {
      type: 'part-start',
      choice: 0,
      part: 2,
      content: { kind: 'tool-call', id: 'c', name: 'f', arguments: '' },
    },
    { type: 'part-delta', choice: 0, part: 2, delta: { arguments: '{"a":' } },
    { type: 'part-delta', choice: 0, part: 2, delta: { arguments: '1}' } },
    { type: 'part-start', choice: 1, part: 0, content: { kind: 'text', text: 'another answer' } },
    { type: 'choice-end', choice: 0, reason: 'length', native: 'max_tokens' },
    { type: 'reply-end' },
  ]
  const called = [{ id: 'c', function: { name: 'f', arguments: { a: 1 } } }]
  const usage = { ...zeroUsage, input: 3, cacheRead: 2, output: 4, reasoning: 1 }

  test('streamed: one record per line, complete tool calls, usage in the last record', () => {
    let clock = 0
    const context = { ...createContext(), elapsedMs: () => (clock += 10) }
    const writer = ollamaChat.createWriter(context)
    const text = events.map((event) => writer.write(event)).join('') + writer.end(usage, cost)
    const records = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(records.map(({ message }) => message)).toEqual([
      { role: 'assistant', content: '', thinking: 'Hm' },
      { role: 'assistant', content: 'Yes' },
      { role: 'assistant', content: '', tool_calls: called },
      { role: 'assistant', content: '' },
    ])
    expect(records.at(-1)).toMatchObject({
      ...{ done: true, done_reason: 'length', prompt_eval_count: 5, eval_count: 5 },
      ...{ total_duration: 20e6, prompt_eval_duration: 10e6, eval_duration: 10e6 },
      usage: { cost: cost.total },
    })
  })

  test('without streaming, for chat and generate', () => {
    const reply = { ...collectReply(events), usage }
    expect(ollamaChat.encodeReply(reply, createContext(), cost)).toMatchObject({
      message: { role: 'assistant', content: 'Yes', thinking: 'Hm', tool_calls: called },
      done_reason: 'length',
    })
    expect(ollamaGenerate.encodeReply(reply, createContext(), cost)).toMatchObject({
      response: 'Yes',
      thinking: 'Hm',
    })
    const hidden = ollamaChat.encodeReply(reply, createContext({ reasoning: { exclude: true } }), cost)
    expect(JSON.stringify(hidden)).not.toContain('Hm')
  })

  test('R33 a failed stream ends with an error and without a done record', () => {
    const text = ollamaChat
      .createWriter(createContext())
      .fail(gatewayError('upstream_failed', 'It broke off.'))
    expect(JSON.parse(text)).toMatchObject({ error: 'It broke off.', code: 502 })
    expect(text).not.toContain('"done"')
  })
})
