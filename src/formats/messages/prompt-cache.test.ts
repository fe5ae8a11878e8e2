import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { promptCache } from './prompt-cache.ts'

const mark = { cache_control: { type: 'ephemeral' } }
const text = (value: string) => ({ type: 'text', text: value })

describe('the prompt cache of the Messages format', () => {
  const body: JsonObject = {
    tools: [{ name: 'a' }, { name: 'b', defer_loading: true }],
    system: 'Be brief.',
    messages: [
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: '…', signature: 's' },
          { type: 'tool_use', id: '1', name: 'a', input: {} },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: '1', content: [text('Found')] }, text(' ')],
      },
    ],
  }

  test('has its blocks in the order of the cache: tools, system, messages', () => {
    const blocks = promptCache.listBlocks(body) ?? []
    expect(blocks.map(({ path, canMark }) => [...path, canMark])).toEqual([
      ['tools', 0, null, true],
      ['tools', 1, null, false],
      ['system', 0, null, true],
      ['messages', 0, 0, true],
      ['messages', 1, 0, false],
      ['messages', 1, 1, true],
      ['messages', 2, 0, true],
      ['messages', 2, 1, false],
    ])
  })

  test('is marked where it is asked for, and the body itself is not changed', () => {
    const before = structuredClone(body)
    const blocks = promptCache.listBlocks(body) ?? []
    const chosen = [0, 2, 3, 6].flatMap((at) => blocks[at] ?? [])
    const marked = promptCache.addBreakpoints(body, chosen) as Record<string, JsonObject[]>
    expect(marked.tools?.[0]).toEqual({ name: 'a', ...mark })
    expect(marked.system).toEqual([{ ...text('Be brief.'), ...mark }])
    expect(marked.messages?.[0]).toEqual({ role: 'user', content: [{ ...text('Hello'), ...mark }] })
    expect(marked.messages?.[2]?.content).toEqual([
      { type: 'tool_result', tool_use_id: '1', content: [text('Found')], ...mark },
      text(' '),
    ])
    expect(marked.messages?.[1]).toBe((body.messages as JsonObject[])[1]!)
    expect(body).toEqual(before)
  })

  test.each<[string, JsonObject]>([
    ['the request', { ...body, ...mark }],
    ['a tool', { ...body, tools: [{ name: 'a', ...mark }] }],
    ['the system prompt', { ...body, system: [{ ...text('Be brief.'), ...mark }] }],
    ['a message', { messages: [{ role: 'user', content: [{ ...text('Hello'), ...mark }] }] }],
    [
      'a part of the result of a tool',
      {
        messages: [
          { role: 'user', content: [{ type: 'tool_result', content: [{ ...text('x'), ...mark }] }] },
        ],
      },
    ],
  ])('is left to a client that has marked %s', (_, marked) => {
    expect(promptCache.listBlocks(marked)).toBeNull()
  })

  test('is the same for a text and a block of text, and another one with other options', () => {
    const headsOf = (change: JsonObject) =>
      (promptCache.listBlocks({ ...body, ...change }) ?? []).map(({ head, value }) => [head, value])
    expect(headsOf({ system: [text('Be brief.')] })).toEqual(headsOf({}))
    expect(headsOf({ thinking: { type: 'enabled', budget_tokens: 2000 } })).not.toEqual(headsOf({}))
  })

  test('is not used for a prompt of thousands of blocks, or a malformed one', () => {
    const content = Array.from({ length: 5000 }, () => text('x'))
    expect(promptCache.listBlocks({ messages: [{ role: 'user', content }] })).toBeNull()
    expect(promptCache.listBlocks({ messages: 'x', tools: 5, system: null })).toEqual([])
  })
})
